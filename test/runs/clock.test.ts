/** Tests of the engine with a clock that they set. */
import { create } from "@bufbuild/protobuf";
import { functionTool, userMessage } from "outrigger";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Run, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { SubmitToolResultsRequestSchema } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { StoreUnreachableError } from "../../src/runs/errors.ts";
import type { RunStore } from "../../src/runs/store.ts";
import { createdRun, holder, textEvent } from "./contract/data.ts";
import { openMemory } from "./store/sqlite/open-store.ts";
import {
  createTestEngine,
  getEvents,
  NEVER,
  runRequest,
  start,
  untilAborted,
} from "./support/test-engine.ts";
import { sharedStore, wrapStore } from "./support/wrapped-store.ts";

// Node's timers with promises use the real clock.
vi.mock("node:timers/promises", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  setTimeout: (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)),
}));

const TIMERS = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] as const;

let open: { close(): Promise<void> }[] = [];

beforeEach(() => void vi.useFakeTimers({ toFake: [...TIMERS] }));

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(open.map((engine) => engine.close()));
  open = [];
});

async function processOn(...[turns, options]: Parameters<typeof createTestEngine>) {
  const made = await createTestEngine(turns, options);
  open.push(made.engine);
  return made;
}

/** Lets everything happen that needs no time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Sets the clock forward in steps, between which everything happens that is due. */
async function pass(ms: number, step = ms): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    await settle();
    await vi.advanceTimersByTimeAsync(step);
  }
  await settle();
}

/** Notes what becomes of a promise. */
function watch<Value>(promise: Promise<Value>) {
  const seen: { outcome?: Value | Error } = {};
  promise.then(
    (value) => {
      seen.outcome = value;
    },
    (thrown: Error) => {
      seen.outcome = thrown;
    },
  );
  return seen;
}

describe("CancelRun", () => {
  it("answers after ten seconds if the process of the run does not react", async () => {
    const store = await openMemory();
    await store.renewLease(holder);
    const busy = await createdRun(store, { owner: "", holder: { id: "another", timeoutMs: 1e9 } });
    await store.renewLease({ id: "another", timeoutMs: 1e9 });
    const { engine } = await processOn(["never"], { store: sharedStore(store) });
    const cancelled = watch(engine.cancelRun("", busy.id));
    await pass(9_990, 1_110);
    expect(cancelled.outcome).toBeUndefined();
    await pass(20);
    expect(cancelled.outcome).toMatchObject({ status: RunStatus.IN_PROGRESS, cancelRequested: true });
  });
});

describe("a process", () => {
  /** A store that notes when it is called. */
  function countCalls(store: RunStore) {
    const calls = { renewLease: 0, claimAbandoned: 0, claimQueued: 0 };
    const wrapped = wrapStore(sharedStore(store), {
      renewLease: (by) => {
        calls.renewLease += 1;
        return store.renewLease(by);
      },
      claimAbandoned: (...parameters) => {
        calls.claimAbandoned += 1;
        return store.claimAbandoned(...parameters);
      },
      claimQueued: (...parameters) => {
        calls.claimQueued += 1;
        return store.claimQueued(...parameters);
      },
    });
    return { wrapped, calls };
  }

  it("sends three heartbeats per lease, and searches for runs of dead processes as often", async () => {
    const { wrapped, calls } = countCalls(await openMemory());
    await processOn(["never"], { store: wrapped, limits: { leaseMs: 30_000 } });
    await pass(1_000);
    calls.renewLease = calls.claimAbandoned = 0;
    await pass(90_000, 500);
    expect(calls.renewLease).toBe(9);
    expect(calls.claimAbandoned).toBeGreaterThanOrEqual(7);
    expect(calls.claimAbandoned).toBeLessThanOrEqual(9);
  });

  it("tries a run that it could not recover again after a third of its lease", async () => {
    const store = await openMemory();
    const { id } = await createdRun(store);
    let tries = 0;
    const failing = wrapStore(store, {
      write: async (write) => {
        if (write.claim.runId !== id) return store.write(write);
        tries += 1;
        // Instead of an endless loop.
        if (tries > 10) await new Promise(() => {});
        throw new StoreUnreachableError("the store is away");
      },
    });
    await store.releaseLease(holder);
    const { wrapped, calls } = countCalls(failing);
    await processOn(["never"], { store: wrapped, limits: { leaseMs: 30_000 } });
    await pass(1_000);
    expect([tries, calls.claimAbandoned]).toEqual([1, 2]);
    await pass(10_000, 500);
    expect(tries).toBe(2);
  });

  it("polls the queue every two seconds, since a notice may be lost", async () => {
    const store = await openMemory();
    const { wrapped, calls } = countCalls(wrapStore(store, { subscribeToQueue: () => () => undefined }));
    const there = await processOn(["done"], { store: wrapped });
    const here = await processOn(["never"], { store: sharedStore(store), limits: { maxBackgroundRuns: 0 } });
    await pass(1_000);
    const { run } = await start(here.engine, runRequest("hi", { background: true }));
    await pass(500);
    expect(there.model.requests).toEqual([]);
    await pass(2_000, 500);
    expect((await store.getRun("", run.id))?.run.status).toBe(RunStatus.COMPLETED);
    calls.claimQueued = 0;
    await pass(20_000, 500);
    expect(calls.claimQueued).toBeGreaterThanOrEqual(9);
    expect(calls.claimQueued).toBeLessThanOrEqual(11);
  });

  it("cancels a run with its next heartbeat, since the notice may be lost", async () => {
    const store = await openMemory();
    const deaf = wrapStore(sharedStore(store), { subscribe: () => () => undefined });
    const { engine, model } = await processOn(["never"], { store: deaf, limits: { leaseMs: 30_000 } });
    model.beforeAnswer = untilAborted;
    const { run } = await start(engine, runRequest("hi", { background: true }));
    await pass(100);
    expect(model.requests).toHaveLength(1);
    await store.requestCancel("", run.id);
    await pass(10_500, 500);
    expect((await store.getRun("", run.id))?.run.status).toBe(RunStatus.CANCELLED);
  });

  it("sends a heartbeat before it creates a run if the latest one is older than half of its lease", async () => {
    vi.useRealTimers();
    vi.useFakeTimers({ toFake: ["performance"] });
    const { wrapped, calls } = countCalls(await openMemory());
    const { engine } = await processOn(["hello"], { store: wrapped, limits: { leaseMs: 30_000 } });
    await settle();
    const countSigns = async (passedMs: number) => {
      vi.advanceTimersByTime(passedMs);
      calls.renewLease = 0;
      await (await start(engine, runRequest("hi"))).result();
      return calls.renewLease;
    };
    expect(await countSigns(14_900)).toBe(0);
    expect(await countSigns(200)).toBe(1);
    expect(await countSigns(14_900)).toBe(0);
  });

  it("takes as many queued runs as it may execute, at most 32 at a time", async () => {
    const limits: number[] = [];
    for (const maxBackgroundRuns of [5, 64]) {
      const store = await openMemory();
      const wrapped = wrapStore(sharedStore(store), {
        claimQueued: async (by, limit, owners) => {
          limits.push(limit);
          return store.claimQueued(by, limit, owners);
        },
        claimAbandoned: async (by, known, limit) => {
          limits.push(limit);
          return store.claimAbandoned(by, known, limit);
        },
      });
      await processOn(["never"], { store: wrapped, limits: { maxBackgroundRuns } });
      await settle();
    }
    expect(limits.slice(0, 2)).toEqual([32, 5]);
    expect(Math.max(...limits)).toBe(32);
  });

  it("misses no run that is queued while it polls the queue", async () => {
    const store = await openMemory();
    const here = await processOn([], { store: sharedStore(store), limits: { maxBackgroundRuns: 0 } });
    let queued: Run | undefined;
    const racing = wrapStore(sharedStore(store), {
      claimQueued: async (...parameters) => {
        const taken = await store.claimQueued(...parameters);
        queued ??= (await start(here.engine, runRequest("hi", { background: true }))).run;
        return taken;
      },
    });
    await processOn(["done"], { store: racing });
    await settle();
    expect((await store.getRun("", queued?.id ?? ""))?.run.status).toBe(RunStatus.COMPLETED);
  });

  it("removes old runs a second after its start, and then every ten minutes, a few at a time", async () => {
    const store = await openMemory();
    const asked: (readonly [Date, number])[] = [];
    let removed = [32, 32, 7, 31, 0];
    const wrapped = wrapStore(sharedStore(store), {
      removeOld: async (before, limit) => {
        asked.push([before, limit]);
        return removed.shift() ?? 0;
      },
    });
    await processOn(["never"], { store: wrapped, limits: { retentionMs: 86_400_000 } });
    await pass(900);
    expect(asked).toEqual([]);
    await pass(200);
    expect(asked.map(([, limit]) => limit)).toEqual([32, 32, 32]);
    const age = Date.now() - (asked[0]?.[0].getTime() ?? 0);
    expect(Math.round(age / 60_000)).toBe(24 * 60);
    await pass(598_000, 59_800);
    expect(asked).toHaveLength(3);
    await pass(2_000);
    expect(asked).toHaveLength(4);
    removed = [];
    await pass(600_000, 60_000);
    expect(asked).toHaveLength(5);
  });

  it("keeps runs forever if there is no age", async () => {
    const store = await openMemory();
    const wrapped = wrapStore(sharedStore(store), { removeOld: () => expect.fail("nothing is too old") });
    const failed: unknown[] = [];
    const observer = { failed: (...failure: unknown[]) => void failed.push(failure) };
    await processOn(["never"], { store: wrapped, limits: { retentionMs: 0 }, observer });
    await pass(1_200_000, 60_000);
    expect(failed).toEqual([]);
  });

  it("reports how many runs are queued with each heartbeat", async () => {
    const store = await openMemory();
    const measured: number[] = [];
    const { engine } = await processOn([], {
      store: sharedStore(store),
      limits: { maxBackgroundRuns: 0, leaseMs: 3_000 },
      observer: { runsMeasured: (queued) => void measured.push(queued) },
    });
    await start(engine, runRequest("hi", { background: true }), "someone");
    await pass(3_000, 500);
    expect(measured.slice(0, 1)).toEqual([0]);
    expect(measured.at(-1)).toBe(1);
  });
});

describe("a run that continues with submitted results", () => {
  const options = {
    request: { model: "m", messages: [userMessage("hi")], tools: [functionTool({ name: "ask" })] },
  };

  it("is not treated as abandoned by its process", async () => {
    const { engine, model } = await processOn([[{ name: "ask" }], "done"], {
      store: sharedStore(await openMemory()),
      limits: { leaseMs: 3_000 },
    });
    const waiting = await (await start(engine, runRequest("", { options }))).result();
    const results = waiting.requiredResults.map(({ id }) => ({ toolCallId: id }));
    const submission = create(SubmitToolResultsRequestSchema, { runId: waiting.id, results });
    const blocked = Promise.withResolvers<void>();
    model.beforeAnswer = () => blocked.promise;
    const resumed = await engine.submitToolResults(submission, { owner: "", signal: NEVER });
    const result = watch(resumed.result());
    await pass(10_000, 500);
    blocked.resolve();
    await settle();
    expect(result.outcome).toMatchObject({ status: RunStatus.COMPLETED });
  });
});

describe("the end of a run", () => {
  it("is written again 50, 250 and 1,000 ms after failures, and then left for the recovery", async () => {
    const store = await openMemory();
    const times: number[] = [];
    const failing = wrapStore(sharedStore(store), {
      write: async (write) => {
        if (write.run?.status !== RunStatus.COMPLETED) return store.write(write);
        times.push(performance.now());
        throw new StoreUnreachableError("the store is away");
      },
    });
    const { engine } = await processOn(["hello"], { store: failing });
    const result = watch((await start(engine, runRequest("hi"))).result());
    await pass(2_000, 10);
    expect(result.outcome).toBeInstanceOf(StoreUnreachableError);
    const pauses = times.slice(1).map((time, index) => Math.round(time - (times[index] ?? 0)));
    expect(pauses).toEqual([50, 250, 1000]);
  });
});

describe("a background run whose end cannot be written", () => {
  it("is left for the recovery, and its readers wait for that", async () => {
    const store = await openMemory();
    let isAway = true;
    const failing = wrapStore(sharedStore(store), {
      write: async (write) => {
        if (isAway && write.run?.status === RunStatus.COMPLETED)
          throw new StoreUnreachableError("the store is away");
        return store.write(write);
      },
    });
    const { engine } = await processOn(["hello"], { store: failing });
    const result = watch((await start(engine, runRequest("hi", { background: true }))).result());
    await pass(2_000, 10);
    expect(result.outcome).toBeUndefined();
    isAway = false;
    await pass(20_000, 1_000);
    expect(result.outcome).toMatchObject({ status: RunStatus.COMPLETED });
  });
});

describe("a reader of a run in another process", () => {
  it("polls the run every five seconds, since a notice may be lost", async () => {
    const store = await openMemory();
    await store.renewLease(holder);
    const made: Run = await createdRun(store, { owner: "" });
    const deaf = wrapStore(sharedStore(store), { subscribe: () => () => undefined });
    const { engine } = await processOn(["never"], { store: deaf, limits: { maxBackgroundRuns: 0 } });
    const reader = engine.streamRun("", made.id, 0, NEVER)[Symbol.asyncIterator]();
    const next = watch(reader.next());
    await pass(500);
    const claim = { runId: made.id, holderId: holder.id, fence: 1 };
    await store.renewLease(holder);
    expect(await store.write({ claim, events: [textEvent(1, "x")] })).toBe(true);
    await pass(4_400, 400);
    expect(next.outcome).toBeUndefined();
    await pass(200);
    expect(next.outcome).toMatchObject({ value: [{ sequence: 1 }] });
    await reader.return?.();
  });
});

describe("the caller of a foreground run that does not read", () => {
  it("is dropped within a quarter of its time", async () => {
    const { engine } = await processOn([Array.from({ length: 3 }, () => "words").join(" ")], {
      store: sharedStore(await openMemory()),
      limits: { stallTimeoutMs: 8_000 },
    });
    const started = await start(engine, runRequest("hi"));
    await pass(7_000, 1_000);
    expect((await engine.getRun("", started.run.id)).status).toBe(RunStatus.IN_PROGRESS);
    await pass(3_500, 500);
    expect((await engine.getRun("", started.run.id)).status).toBe(RunStatus.COMPLETED);
    await expect(getEvents(started.events)).rejects.toThrow("were not read for 8000 ms");
  });
});

describe("a run whose thread is busy", () => {
  it("asks for its turn again with growing delays", async () => {
    const store = await openMemory();
    let ended = "";
    const times: number[] = [];
    const busy = wrapStore(sharedStore(store), {
      appendMessages: async () => {
        times.push(performance.now());
        return { case: "busy", activeRunId: ended };
      },
    });
    const { engine } = await processOn(["hello"], { store: busy, limits: { threadWaitMs: 3_000 } });
    const result = watch((await start(engine, runRequest("hi"))).result());
    await pass(100, 10);
    ended = (result.outcome as Run).id;
    const append = watch(engine.threads.appendMessages("", "thread_x", []));
    await pass(4_000, 10);
    expect(append.outcome).toMatchObject({ name: "ThreadBusyError" });
    const pauses = times.slice(1).map((time, index) => Math.round(time - (times[index] ?? 0)));
    expect(pauses.slice(0, 9)).toEqual([0, 20, 40, 80, 160, 320, 500, 500, 500]);
  });
});
