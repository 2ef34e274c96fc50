import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create } from "@bufbuild/protobuf";
import { Client } from "outrigger";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { ListRunsRequestSchema } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { StoreUnreachableError } from "../../src/runs/errors.ts";
import { createLazyRunEngine, openWhenReachable } from "../../src/runs/lazy-engine.ts";
import { RunEngine } from "../../src/runs/run-engine.ts";
import { NotConnectedError } from "../../src/runs/store/driver.ts";
import { openPostgresStore } from "../../src/runs/store/postgres.ts";
import type { RunStore } from "../../src/runs/store.ts";
import { createdRun } from "./contract/data.ts";
import { openMemory } from "./store/sqlite/open-store.ts";
import { createTestEngine, run, runRequest } from "./support/test-engine.ts";

/** An engine that counts how often it is opened. The given number of openings fail first. */
function countedEngine(failures = 0) {
  const counts = { opened: 0 };
  const engine = createLazyRunEngine(async () => {
    counts.opened += 1;
    if (counts.opened <= failures) throw new Error("a failure of the test");
    return new RunEngine({ client: new Client({ providers: {} }), store: await openMemory() });
  });
  return { engine, counts };
}

const list = create(ListRunsRequestSchema);

/** Subscribes a new listener and unsubscribes it. Returns the listener. */
function subscribeAndLeave(store: RunStore): () => void {
  const listener = () => {};
  store.subscribe("run_1", listener)();
  return listener;
}

/** Whether nothing but the reference refers to its target. */
function isCollected(reference: WeakRef<object>): boolean {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return reference.deref() === undefined;
}

describe("createLazyRunEngine()", () => {
  it("opens the engine at its first use, once for all uses", async () => {
    const { engine, counts } = await countedEngine();
    expect(counts.opened).toBe(0);
    const lists = await Promise.all([engine.listRuns("", list), engine.listRuns("", list)]);
    expect(lists.map(({ runs }) => runs)).toEqual([[], []]);
    await engine.listRuns("", list);
    expect(counts.opened).toBe(1);
    await engine.close();
  });

  it("opens it for a stream when the stream is read", async () => {
    const { engine, counts } = await countedEngine();
    const events = engine.streamRun("", `run_${"0".repeat(32)}`, -1, new AbortController().signal);
    expect(counts.opened).toBe(0);
    await expect(events[Symbol.asyncIterator]().next()).rejects.toThrow("run_0000");
    expect(counts.opened).toBe(1);
    await engine.close();
  });

  it("tries again if it could not be opened", async () => {
    const { engine, counts } = await countedEngine(2);
    await expect(engine.listRuns("", list)).rejects.toThrow("a failure of the test");
    await expect(engine.listRuns("", list)).rejects.toThrow("a failure of the test");
    expect((await engine.listRuns("", list)).runs).toEqual([]);
    expect(counts.opened).toBe(3);
    await engine.close();
  });

  it("is not opened by its end, nor after it", async () => {
    const { engine, counts } = await countedEngine();
    await engine.drain();
    await engine.close();
    await expect(engine.listRuns("", list)).rejects.toThrow("the sidecar is shutting down");
    expect(counts.opened).toBe(0);
  });
});

describe("openWhenReachable()", () => {
  /** A database that cannot be reached as often as asked, and then has the store. */
  async function openLate(failures: number) {
    const store = await openMemory();
    const problems: string[] = [];
    let attempts = 0;
    const lazy = await openWhenReachable(
      async () => {
        attempts += 1;
        if (attempts <= failures) throw new NotConnectedError(`no connection ${attempts}`);
        return store;
      },
      (error) => problems.push(error.message),
    );
    return { store, lazy, problems, countAttempts: () => attempts };
  }

  it("returns the store itself if its database can be reached", async () => {
    const { store, lazy } = await openLate(0);
    expect(lazy).toBe(store);
    await store.close();
  });

  it("opens the store in the background otherwise, and subscribes to it then", async () => {
    const { store, lazy, problems, countAttempts } = await openLate(2);
    expect(problems).toEqual(["no connection 1"]);
    const told: string[] = [];
    lazy.subscribeToQueue(() => told.push("all"));
    const unsubscribe = lazy.subscribeToQueue(() => told.push("none"));
    unsubscribe();
    await expect.poll(countAttempts, { timeout: 10_000 }).toBe(3);
    expect(problems).toEqual(["no connection 1", "no connection 2"]);
    await createdRun(store, { queued: true });
    expect(told).toEqual(["all"]);
    expect((await lazy.countQueued("owner")).total).toBe(1);
    await lazy.close();
  });

  it("tries again after growing pauses of up to ten seconds, and no more after its end", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const times: number[] = [];
    const open = async () => {
      times.push(performance.now());
      throw new StoreUnreachableError("away");
    };
    const store = await openWhenReachable(open, () => {});
    await vi.advanceTimersByTimeAsync(40_000);
    const pauses = times.slice(1).map((time, index) => Math.round(time - (times[index] ?? 0)));
    expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    await store.close();
    await vi.advanceTimersByTimeAsync(40_000);
    expect(times).toHaveLength(8);
  });

  it("notifies no subscriber that unsubscribed before it was opened, and all others afterwards", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { store, lazy } = await openLate(1);
    const told: string[] = [];
    const leaves = ["early", "gone"].map((name) => lazy.subscribe("run_1", () => told.push(name)));
    leaves[1]?.();
    await vi.advanceTimersByTimeAsync(500);
    lazy.subscribe("run_1", () => told.push("late"));
    const announce = async () => {
      const run = await createdRun(store, { run: { id: "run_1" } });
      await store.deleteRun("owner", run.id);
    };
    await announce();
    expect(told).toEqual(["early", "late"]);
    leaves[0]?.();
    await announce();
    expect(told).toEqual(["early", "late", "late"]);
    expect(lazy.isShared).toBe(true);
    await lazy.close();
  });

  it("keeps no subscription that ended while the database was unavailable", async () => {
    const { store, lazy } = await openLate(Number.POSITIVE_INFINITY);
    const left = new WeakRef(subscribeAndLeave(lazy));
    await expect.poll(() => isCollected(left)).toBe(true);
    await Promise.all([lazy.close(), store.close()]);
  });

  it("throws every other failure to open it", async () => {
    const open = async () => Promise.reject(new Error("a failure of the test"));
    await expect(openWhenReachable(open, () => {})).rejects.toThrow("a failure of the test");
  });

  it("does not open it at its end", async () => {
    const { lazy, countAttempts } = await openLate(1);
    await lazy.releaseLease({ id: "process-1", timeoutMs: 1 });
    await lazy.close();
    await expect(lazy.countQueued("")).rejects.toThrow("the sidecar is shutting down");
    expect(countAttempts()).toBe(1);
  });

  it("lets runs that are not stored begin while the database is unavailable", async () => {
    const url = "postgres://nobody:nothing@127.0.0.1:1/none";
    const open = () => openPostgresStore({ url, maxBodyBytes: 1_000_000, onProblem: () => {} });
    const { engine } = await createTestEngine(["hello"], {
      store: await openWhenReachable(open, () => {}),
    });
    const unstored = await run(engine, runRequest("hi", { store: false }));
    expect(unstored.status).toBe(RunStatus.COMPLETED);
    await expect(run(engine, runRequest("hi"))).rejects.toBeInstanceOf(StoreUnreachableError);
    await engine.close();
  });
});
