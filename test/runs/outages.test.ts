/** Runs whose store is unavailable or full for a while, and runs that a process had to give up. */
import { InternalError } from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import { Role } from "../../src/gen/outrigger/v1/message_pb.ts";
import { type Run, type RunEvent, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { StoreFullError, StoreUnreachableError } from "../../src/runs/errors.ts";
import { RunEngine } from "../../src/runs/run-engine.ts";
import { isTerminal } from "../../src/runs/status.ts";
import type { RunStore, RunWrite } from "../../src/runs/store.ts";
import type { Turn } from "../generation/support/scripted-model.ts";
import { waitUntil } from "../kit/http/servers.ts";
import { getDriver, openMemory } from "./store/sqlite/open-store.ts";
import { FakeServerTools, toolServer } from "./support/fake-server-tools.ts";
import {
  createTestEngine,
  getEvents,
  NEVER,
  replay,
  run,
  runRequest,
  start,
  type TestEngine,
  untilAborted,
} from "./support/test-engine.ts";
import { WordyClient } from "./support/wordy-client.ts";
import { mortalStore, sharedStore, wrapStore } from "./support/wrapped-store.ts";

type Options = Parameters<typeof createTestEngine>[1];

const limits = { leaseMs: 300 };

let open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(open.map((engine) => engine.close()));
  open = [];
});

async function processOn(store: RunStore, turns: readonly Turn[] = ["done"], options: Options = {}) {
  const made = await createTestEngine(turns, { limits, ...options, store: sharedStore(store) });
  open.push(made.engine);
  return made;
}

const background = (text = "hi") => runRequest(text, { background: true });

async function waitForStatus({ engine }: Pick<TestEngine, "engine">, runId: string, status: RunStatus) {
  await expect.poll(async () => (await engine.getRun("", runId)).status, { timeout: 10_000 }).toBe(status);
  return engine.getRun("", runId);
}

/** Runs that a process has begun and left behind. */
async function abandonedRuns(store: RunStore, count: number): Promise<readonly Run[]> {
  const mortal = mortalStore(store);
  const { engine, model } = await createTestEngine(["never"], {
    limits: { ...limits, maxBackgroundRuns: count },
    store: mortal.store,
  });
  model.beforeAnswer = () => new Promise(() => {});
  const started: Run[] = [];
  for (let run = 0; run < count; run += 1) started.push((await start(engine, background())).run);
  await waitUntil(() => model.requests.length === count);
  mortal.die();
  return started;
}

const away = () => new StoreUnreachableError("the store cannot be reached");

/** A store that fails on demand. */
function failingStore(store: RunStore, fails: (write: RunWrite) => Error | undefined): RunStore {
  return wrapStore(store, {
    write: async (write) => {
      const failure = fails(write);
      if (failure !== undefined) throw failure;
      return store.write(write);
    },
  });
}

function isEnd({ run }: RunWrite): boolean {
  return run !== undefined && isTerminal(run.status);
}

describe("runs of a dead process", () => {
  it("are all claimed at once", async () => {
    const store = await openMemory();
    const runs = await abandonedRuns(store, 120);
    await store.renewLease({ id: "another", timeoutMs: 1 });
    await new Promise((resolve) => setTimeout(resolve, limits.leaseMs));
    // It polls for such runs at its start and then every ten seconds.
    const survivor = await processOn(store, ["done"], { limits: { leaseMs: 30_000 } });
    for (const { id } of runs) await waitForStatus(survivor, id, RunStatus.COMPLETED);
  }, 30_000);

  it("are taken over even if one run cannot be read, which fails", async () => {
    const store = await openMemory();
    const [unreadable, ...others] = await abandonedRuns(store, 4);
    const damaged = wrapStore(store, {
      readSteps: async (runId) => {
        if (runId === unreadable?.id) throw new InternalError("the step cannot be read");
        return store.readSteps(runId);
      },
    });
    const survivor = await processOn(damaged);
    for (const { id } of others) await waitForStatus(survivor, id, RunStatus.COMPLETED);
    await expect
      .poll(async () => (await store.getRun("", unreadable?.id ?? ""))?.run, { timeout: 10_000 })
      .toMatchObject({ status: RunStatus.FAILED, error: { message: "the step cannot be read" } });
  });

  it("are taken over when the store is available again after an outage", async () => {
    const store = await openMemory();
    const runs = await abandonedRuns(store, 6);
    let failed = 0;
    const reports: string[] = [];
    const flaky = failingStore(store, () => {
      failed += 1;
      return failed <= 9 ? away() : undefined;
    });
    const observer = { failed: (what: string) => void reports.push(what) };
    const survivor = await processOn(flaky, ["done"], { observer });
    for (const { id } of runs) await waitForStatus(survivor, id, RunStatus.COMPLETED);
    expect(reports.filter((what) => what.startsWith("recover the run")).length).toBeGreaterThan(0);
  });
});

describe("a process that takes runs", () => {
  it("never takes queued and abandoned ones at the same time, so that it takes none of its own", async () => {
    const store = await openMemory();
    const takings = { current: 0, most: 0, abandoned: 0, queued: 0 };
    const counted = async <Result>(kind: "abandoned" | "queued", take: () => Promise<Result>) => {
      takings[kind] += 1;
      takings.current += 1;
      takings.most = Math.max(takings.most, takings.current);
      await new Promise((resolve) => setTimeout(resolve, 2));
      const taken = await take();
      takings.current -= 1;
      return taken;
    };
    const { engine } = await processOn(
      wrapStore(store, {
        claimQueued: (...parameters) => counted("queued", () => store.claimQueued(...parameters)),
        claimAbandoned: (...parameters) => counted("abandoned", () => store.claimAbandoned(...parameters)),
      }),
      Array.from({ length: 20 }, () => "done"),
      // It looks for abandoned runs each millisecond.
      { limits: { leaseMs: 3 } },
    );
    for (let count = 0; count < 20; count += 1) await run(engine, background());
    expect(Math.min(takings.abandoned, takings.queued)).toBeGreaterThan(5);
    expect(takings.most).toBe(1);
  });
});

describe("a store that is unavailable", () => {
  it("reports the failure if the end of a run could not be written, and ends the run later", async () => {
    const store = await openMemory();
    let isAway = true;
    const reports: string[] = [];
    const { engine } = await processOn(
      failingStore(store, (write) => (isAway && isEnd(write) ? away() : undefined)),
      ["hello"],
      { observer: { failed: (what) => void reports.push(what) } },
    );
    const thread = await engine.threads.createThread("", { metadata: {}, messages: [] });
    const started = await start(engine, runRequest("hi", { threadId: thread.id }));
    await expect(started.result()).rejects.toThrow("the store cannot be reached");
    expect(reports).toContain(`write the end of the run ${started.run.id}`);
    expect((await store.getRun("", started.run.id))?.run.status).toBe(RunStatus.IN_PROGRESS);
    isAway = false;
    await waitForStatus({ engine }, started.run.id, RunStatus.FAILED);
    expect(await run(engine, runRequest("again", { threadId: thread.id }))).toMatchObject({
      status: RunStatus.COMPLETED,
    });
  }, 20_000);

  it("keeps a step whose write failed, with the results of tools that came meanwhile", async () => {
    const store = await openMemory();
    const tools = new FakeServerTools(["a"]);
    let failures = 0;
    const flaky = wrapStore(store, {
      write: async (write) => {
        if (failures > 0 || (write.steps ?? []).length === 0) return store.write(write);
        failures += 1;
        await waitUntil(() => tools.executed.length > 0);
        // The result is noted in a turn after that in which the tool returns.
        for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        throw away();
      },
    });
    const { engine, model } = await processOn(flaky, [[{ name: "a" }], "never"], {
      serverTools: tools.serverTools,
    });
    model.beforeAnswer = (signal) => (model.requests.length === 2 ? untilAborted(signal) : Promise.resolve());
    const started = await start(engine, runRequest("hi", { mcpServers: [toolServer] }));
    const over = await started.result();
    expect(over).toMatchObject({
      status: RunStatus.FAILED,
      error: { message: "the store cannot be reached" },
      steps: [{ toolResults: [{ failed: false }] }],
    });
    expect(await engine.getRun("", over.id)).toEqual(over);
    const { elements } = await engine.threads.listMessages("", {
      threadId: over.threadId,
      after: "",
      limit: 10,
      order: "oldest first",
    });
    expect(elements.map(({ message }) => message?.role)).toEqual([Role.USER, Role.ASSISTANT, Role.TOOL]);
  });

  it("fails no queued run that it takes just before", async () => {
    const store = await openMemory();
    let reads = 0;
    const flaky = wrapStore(store, {
      readHistory: async (runId) => {
        reads += 1;
        if (reads === 1) throw away();
        return store.readHistory(runId);
      },
    });
    const { engine } = await processOn(flaky, ["hello"]);
    const started = await start(engine, background());
    await waitForStatus({ engine }, started.run.id, RunStatus.COMPLETED);
    expect(reads).toBe(2);
  });

  it("puts a background run back into the queue, so that it continues afterwards", async () => {
    const store = await openMemory();
    let isAway = false;
    const flaky = failingStore(store, () => (isAway ? away() : undefined));
    const client = new WordyClient(2_000);
    // The store becomes unavailable in the middle of the answer, however slow this machine is.
    client.beforeEvent = async () => {
      if (client.written !== 100) return;
      isAway = true;
      setTimeout(() => {
        isAway = false;
      }, 500);
    };
    const engine = new RunEngine({ client, store: sharedStore(flaky), limits });
    open.push(engine);
    const started = await start(engine, background());
    const read = getEvents(started.events);
    const over = await waitForStatus({ engine }, started.run.id, RunStatus.COMPLETED);
    expect(over.steps).toHaveLength(1);
    const events = await read;
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
    expect(events.filter(({ event }) => event.case === "stepRestart")).toHaveLength(1);
    expect(await replay(engine, over.id)).toEqual(events);
  }, 20_000);

  it("does not lose a run whose creation was not confirmed to its caller", async () => {
    const store = await openMemory();
    const ids: string[] = [];
    const flaky = wrapStore(store, {
      createRun: async (creation) => {
        await store.createRun(creation);
        ids.push(creation.run.id);
        throw away();
      },
    });
    const { engine } = await processOn(flaky);
    await expect(start(engine, runRequest("hi"))).rejects.toThrow("the store cannot be reached");
    await waitForStatus({ engine }, ids[0] ?? "", RunStatus.FAILED);
  });

  it("does not keep queued runs that it gave to a process without an answer", async () => {
    const store = await openMemory();
    let lost = 0;
    const flaky = wrapStore(store, {
      claimQueued: async (...parameters) => {
        const taken = await store.claimQueued(...parameters);
        if (taken.length === 0 || lost > 0) return taken;
        lost += taken.length;
        throw away();
      },
    });
    const here = await processOn(flaky);
    const { run: queued } = await start(here.engine, background());
    await waitForStatus(here, queued.id, RunStatus.COMPLETED);
    expect(lost).toBe(1);
  });

  it("is not noticed by a reader if the outage is short", async () => {
    const store = await openMemory();
    const there = await processOn(store, ["hello"]);
    const over = await run(there.engine, background());
    let failures = 3;
    const driver = getDriver(store);
    const { readPage } = driver;
    driver.readPage = async (...parameters) => {
      failures -= 1;
      if (failures >= 0) throw away();
      return readPage.call(driver, ...parameters) as never;
    };
    const here = await processOn(store);
    expect(await replay(here.engine, over.id)).toEqual(await replay(there.engine, over.id));
    expect(failures).toBeLessThan(0);
  });
});

describe("a store that is slow", () => {
  it("holds the call of a tool back until the answer and the start of the call are stored", async () => {
    const store = await openMemory();
    const stored: string[] = [];
    const storedBefore: string[][] = [];
    const slow = wrapStore(store, {
      write: async (write) => {
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        const isWritten = await store.write(write);
        stored.push(...(write.steps ?? []).map(() => "answer"));
        stored.push(...(write.events ?? []).flatMap(({ event }) => event.case ?? []));
        return isWritten;
      },
    });
    const tools = new FakeServerTools(["a"], async () => {
      storedBefore.push(stored.filter((what) => what === "answer" || what === "mcpToolStart"));
      return "done";
    });
    const { engine } = await processOn(slow, [[{ name: "a" }], "done"], { serverTools: tools.serverTools });
    const request = runRequest("hi", { background: true, mcpServers: [toolServer] });
    const started = await start(engine, request);
    await waitForStatus({ engine }, started.run.id, RunStatus.COMPLETED);
    expect(storedBefore).toEqual([["answer", "mcpToolStart"]]);
  });
});

describe("a store that is full", () => {
  it("ends a run with its last event alone, and readers have seen nothing that is not stored", async () => {
    const store = await openMemory();
    let writes = 0;
    const ends: RunWrite[] = [];
    const full = failingStore(store, (write) => {
      writes += 1;
      if (isEnd(write) && write.events?.length === 1) {
        ends.push(write);
        return undefined;
      }
      return writes > 6 ? new StoreFullError("there is no space left") : undefined;
    });
    const client = new WordyClient(400);
    const engine = new RunEngine({ client, store: sharedStore(full), limits });
    open.push(engine);
    for (const isBackground of [false, true]) {
      writes = 0;
      const started = await start(engine, runRequest("hi", { background: isBackground }));
      const events = await getEvents(started.events);
      const failed = await started.result();
      expect(failed).toMatchObject({
        status: RunStatus.FAILED,
        steps: [],
        error: { message: "there is no space left" },
      });
      expect(await replay(engine, failed.id)).toEqual(events);
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
    }
    expect(ends.map(({ steps = [], messages = [] }) => [steps.length, messages.length])).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it("keeps that a run was to be cancelled, if its end is that of a full store", async () => {
    const store = await openMemory();
    const ends: RunWrite[] = [];
    const full = failingStore(store, (write) => {
      if (isEnd(write)) ends.push(write);
      return isEnd(write) && ends.length === 1 ? new StoreFullError("there is no space left") : undefined;
    });
    const { engine, model } = await processOn(full, ["never"]);
    model.beforeAnswer = untilAborted;
    const started = await start(engine, background());
    await waitUntil(() => model.requests.length === 1);
    await engine.cancelRun("", started.run.id);
    expect(ends.map((write) => write.run?.cancelRequested)).toEqual([true, true]);
    const ended = await engine.getRun("", started.run.id);
    expect(ended).toMatchObject({ status: RunStatus.FAILED, cancelRequested: true });
    expect((await replay(engine, ended.id)).at(-1)?.event.value).toMatchObject({ cancelRequested: true });
  });

  it("ends a run whose answer it cannot keep", async () => {
    const store = await openMemory();
    const full = failingStore(store, ({ steps = [] }) =>
      steps.length > 0 ? new StoreFullError("there is no space left") : undefined,
    );
    const { engine } = await processOn(full, ["hello"]);
    expect(await run(engine, runRequest("hi"))).toMatchObject({ status: RunStatus.FAILED });
    expect(await run(engine, background())).toMatchObject({ status: RunStatus.FAILED });
  });
});

describe("a reader of a run that has ended", () => {
  it("does not read the store after the last event", async () => {
    const store = await openMemory();
    let reads = 0;
    const counting = wrapStore(store, {
      readEvents: (...parameters) => {
        reads += 1;
        return store.readEvents(...parameters);
      },
    });
    const { engine } = await processOn(counting, ["hello"]);
    const over = await run(engine, runRequest("hi"));
    reads = 0;
    expect((await replay(engine, over.id)).at(-1)?.event.case).toBe("run");
    expect(reads).toBe(1);
  });
});

describe("readers of a run that another process executes", () => {
  it("share one reading of the store", async () => {
    const store = await openMemory();
    const client = new WordyClient(300);
    const there = new RunEngine({ client, store: sharedStore(store), limits });
    open.push(there);
    let [reads, subscriptions] = [0, 0];
    const counting = wrapStore(store, {
      subscribe: (...parameters) => {
        subscriptions += 1;
        return store.subscribe(...parameters);
      },
      readEvents: (...parameters) => {
        reads += 1;
        return store.readEvents(...parameters);
      },
    });
    const here = await processOn(counting, ["never"], { limits: { ...limits, maxBackgroundRuns: 0 } });
    const started = await start(there, runRequest("hi"));
    const iterator = started.events[Symbol.asyncIterator]();
    const first = await iterator.next();
    const readers = Array.from({ length: 50 }, () => {
      const events: RunEvent[] = [];
      const read = async () => {
        for await (const batch of here.engine.streamRun("", started.run.id, -1, NEVER)) events.push(...batch);
        return events;
      };
      return { events, done: read() };
    });
    await waitUntil(() => readers.every(({ events }) => events.length > 0) && subscriptions > 0);
    // The run waits for its caller, so that all readers have time to join.
    for (let turn = 0; turn < 300; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const before = reads;
    const rest = await getEvents({ [Symbol.asyncIterator]: () => iterator });
    const all = [...(first.value ?? []), ...rest];
    for (const { done } of readers) expect(await done).toEqual(all);
    // Separate readers would each read every write. Some page separately until they join.
    expect(reads - before).toBeLessThan(all.length);
    expect(subscriptions).toBe(1);
  });

  it("continue when another one leaves", async () => {
    const store = await openMemory();
    const there = await processOn(store, ["hello"]);
    const blocked = Promise.withResolvers<void>();
    there.model.beforeAnswer = () => blocked.promise;
    const started = await start(there.engine, background());
    await waitUntil(() => there.model.requests.length === 1);
    let subscriptions = 0;
    const counting = wrapStore(store, {
      subscribe: (...parameters) => {
        subscriptions += 1;
        return store.subscribe(...parameters);
      },
    });
    const here = await processOn(counting, ["never"], { limits: { ...limits, maxBackgroundRuns: 0 } });
    const openReader = () => here.engine.streamRun("", started.run.id, -1, NEVER)[Symbol.asyncIterator]();
    const [leaving, staying] = [openReader(), openReader()];
    const read: RunEvent[] = [];
    // The run has two events before the model answers: queued and in progress.
    for (const iterator of [leaving, staying]) {
      for (let events = 0; events < 2; ) {
        const { value = [] } = await iterator.next();
        events += value.length;
        if (iterator === staying) read.push(...value);
      }
    }
    const next = leaving.next();
    const rest = getEvents({ [Symbol.asyncIterator]: () => staying });
    await waitUntil(() => subscriptions > 0);
    await leaving.return?.();
    await next;
    blocked.resolve();
    read.push(...(await rest));
    expect(read.at(-1)?.event).toMatchObject({ value: { status: RunStatus.COMPLETED } });
    expect(read).toEqual(await replay(there.engine, started.run.id));
  });

  it.each([
    [1, "before"],
    [1, "after"],
  ])("lose no event that is written while they look at the run for the time %i (%s)", async (look, when) => {
    const store = await openMemory();
    const there = await processOn(store, ["hello"]);
    const blocked = Promise.withResolvers<void>();
    there.model.beforeAnswer = () => blocked.promise;
    const started = await start(there.engine, background());
    await waitUntil(() => there.model.requests.length === 1);
    let looks = 0;
    const racing = wrapStore(store, {
      getRun: async (...parameters) => {
        const found = await store.getRun(...parameters);
        looks += 1;
        const isNow = looks === look;
        // The run ends after its events were read and before its reader waits for a notice.
        if (isNow) {
          blocked.resolve();
          await expect
            .poll(async () => (await store.getRun("", started.run.id))?.run.status)
            .toBe(RunStatus.COMPLETED);
        }
        return isNow && when === "after" ? store.getRun(...parameters) : found;
      },
    });
    const here = await processOn(racing, ["never"], { limits: { ...limits, maxBackgroundRuns: 0 } });
    const begun = performance.now();
    const events = await replay(here.engine, started.run.id);
    expect(events.at(-1)?.event).toMatchObject({ value: { status: RunStatus.COMPLETED } });
    expect(looks).toBeGreaterThanOrEqual(look);
    // Without the notice they poll again after five seconds.
    expect(performance.now() - begun).toBeLessThan(4_000);
  });
});
