/** Runs that nobody waits for: the queue, several processes on one store, their death, and the end of a sidecar. */
import { inspect } from "node:util";
import { textOf, userMessage } from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import { ServerError } from "../../src/core/errors.ts";
import { type Run, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import type { RunLimits } from "../../src/runs/limits.ts";
import type { RunStore } from "../../src/runs/store.ts";
import { waitUntil } from "../kit/http/servers.ts";
import { openMemory } from "./store/sqlite/open-store.ts";
import { FakeServerTools, toolServer } from "./support/fake-server-tools.ts";
import {
  createTestEngine,
  getEvents,
  replay,
  run,
  runRequest,
  start,
  type TestEngine,
  untilAborted,
} from "./support/test-engine.ts";
import { sharedStore, wrapStore } from "./support/wrapped-store.ts";

let open: TestEngine[] = [];

async function engineWith(...parameters: Parameters<typeof createTestEngine>): Promise<TestEngine> {
  const made = await createTestEngine(...parameters);
  open.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(open.map(({ engine }) => engine.close()));
  open = [];
});

const background = (text: string) => runRequest(text, { background: true });

/** One of several processes on one store. */
function processOn(store: RunStore, limits: Partial<RunLimits> = {}, turns = ["hello"]): Promise<TestEngine> {
  return engineWith(turns, { store: sharedStore(store), limits });
}

function statusesIn(events: Awaited<ReturnType<typeof replay>>): RunStatus[] {
  return events.flatMap(({ event }) => (event.case === "run" ? [event.value.status] : []));
}

async function waitForStatus({ engine }: TestEngine, runId: string, status: RunStatus): Promise<Run> {
  await expect.poll(async () => (await engine.getRun("", runId)).status, { timeout: 10_000 }).toBe(status);
  return engine.getRun("", runId);
}

describe("queued runs", () => {
  it("fail if they cannot be started", async () => {
    const store = await openMemory();
    const readHistory = () => Promise.reject(new ServerError("the history cannot be read"));
    const here = await engineWith(["hello"], { store: wrapStore(store, { readHistory }) });
    const { run } = await start(here.engine, background("hi"));
    const failed = await waitForStatus(here, run.id, RunStatus.FAILED);
    expect(failed.error?.message).toContain("the history cannot be read");
    expect(statusesIn(await replay(here.engine, run.id))).toEqual([RunStatus.QUEUED, RunStatus.FAILED]);
    expect(here.model.requests).toEqual([]);
  });

  it("are executed by another process, and can be read and cancelled here", async () => {
    const store = await openMemory();
    const here = await processOn(store, { maxBackgroundRuns: 0 });
    const there = await processOn(store);
    const events = await getEvents((await start(here.engine, background("hi"))).events);
    expect(statusesIn(events)).toEqual([RunStatus.QUEUED, RunStatus.IN_PROGRESS, RunStatus.COMPLETED]);
    expect([here.model.requests.length, there.model.requests.length]).toEqual([0, 1]);
    there.model.beforeAnswer = untilAborted;
    const second = await start(here.engine, background("hi"));
    await waitForStatus(here, second.run.id, RunStatus.IN_PROGRESS);
    await store.requestCancel("", second.run.id);
    expect(await here.engine.cancelRun("", second.run.id)).toMatchObject({ status: RunStatus.CANCELLED });
  });

  it("are each executed once by several processes", async () => {
    const store = await openMemory();
    const processes = [await processOn(store), await processOn(store), await processOn(store)];
    const [first = await processOn(store)] = processes;
    const texts = Array.from({ length: 60 }, (_, index) => `run ${index}`);
    const started = await Promise.all(texts.map((text) => start(first.engine, background(text))));
    for (const { result } of started) expect((await result()).status).toBe(RunStatus.COMPLETED);
    const asked = processes.flatMap(({ model }) => model.requests.map(({ messages }) => textOf(messages[0])));
    expect(asked.toSorted()).toEqual(texts.toSorted());
  });

  it("are executed after a restart", async () => {
    const store = await openMemory();
    const first = await processOn(store, { maxBackgroundRuns: 0 });
    const { run: queued } = await start(first.engine, background("hi"));
    await first.engine.close();
    const second = await processOn(store);
    expect(await waitForStatus(second, queued.id, RunStatus.COMPLETED)).toBeDefined();
  });

  it("read the conversation that they continue, with their system message", async () => {
    const { engine, model } = await engineWith(["one", "two"]);
    const first = await run(engine, runRequest("hi"));
    const options = { system: "be brief", request: { model: "m", messages: [userMessage("and?")] } };
    await run(engine, runRequest("", { background: true, previousRunId: first.id, options }));
    expect(model.requests[1]?.messages.map((message) => textOf(message))).toEqual([
      "be brief",
      "hi",
      "one",
      "and?",
    ]);
  });

  it("are refused if too many wait, with an error that names the limit", async () => {
    const { engine } = await engineWith([], { limits: { maxBackgroundRuns: 0, maxQueuedRuns: 2 } });
    await start(engine, background("1"));
    await start(engine, background("2"));
    await expect(start(engine, background("3"))).rejects.toMatchObject({
      kindName: "RATE_LIMIT",
      limit: "max_queued_runs",
    });
  });

  it("begin in the process that has their secrets", async () => {
    const store = await openMemory();
    const tools = new FakeServerTools(["a"]);
    const here = await engineWith(["hello"], { store, serverTools: tools.serverTools });
    const there = await processOn(store);
    const server = { ...toolServer, authorization: "secret", headers: { "x-key": "secret" } };
    const started = await start(here.engine, runRequest("hi", { background: true, mcpServers: [server] }));
    expect(started.run.status).toBe(RunStatus.IN_PROGRESS);
    expect((await started.result()).status).toBe(RunStatus.COMPLETED);
    expect(tools.asked).toEqual([["secret"]]);
    expect(there.model.requests).toEqual([]);
    expect(inspect(await store.getRun("", started.run.id), { depth: 20 })).not.toContain("secret");
  });
});

describe("runs that are too old", () => {
  it("are removed soon after the start, and leave half of the time to other work", async () => {
    const store = await openMemory();
    const first = await processOn(store);
    const over = await run(first.engine, runRequest("hi"));
    let removals = 0;
    let pausesMs = 0;
    let endedAt: number | undefined;
    const slow = wrapStore(store, {
      removeOld: async () => {
        removals += 1;
        const started = performance.now();
        if (endedAt !== undefined) pausesMs += started - endedAt;
        while (performance.now() < started + 5);
        endedAt = performance.now();
        return removals < 20 ? 32 : store.removeOld(new Date(), 32);
      },
    });
    const second = await processOn(slow, { retentionMs: 1 });
    await expect
      .poll(async () => second.engine.getRun("", over.id).catch(() => "gone"), { timeout: 8_000 })
      .toBe("gone");
    expect(removals).toBeGreaterThanOrEqual(20);
    expect(pausesMs).toBeGreaterThan(19 * 4);
  });
});

describe("a sidecar that ends", () => {
  it("gets no more notices of queued runs", async () => {
    const store = await openMemory();
    let listeners = 0;
    const counted = wrapStore(store, {
      subscribeToQueue: (listener) => {
        const unsubscribe = store.subscribeToQueue(listener);
        listeners += 1;
        return () => {
          listeners -= 1;
          unsubscribe();
        };
      },
    });
    const { engine } = await engineWith([], { store: counted });
    expect(listeners).toBe(1);
    await engine.drain();
    expect(listeners).toBe(0);
  });

  it("finishes runs of waiting callers while it drains, and starts no more", async () => {
    const { engine, model } = await engineWith(["hello"]);
    const blocked = Promise.withResolvers<void>();
    model.beforeAnswer = () => blocked.promise;
    const result = (await start(engine, runRequest("hi"))).result();
    await waitUntil(() => model.requests.length === 1);
    let isDrained = false;
    const drained = engine.drain().then(() => {
      isDrained = true;
    });
    await expect(start(engine, runRequest("late"))).rejects.toMatchObject({ kindName: "SERVER" });
    expect(isDrained).toBe(false);
    blocked.resolve();
    await drained;
    expect(await result).toMatchObject({ status: RunStatus.COMPLETED });
  });

  it("fails a run that is created while it closes", async () => {
    const store = await openMemory();
    const [asked, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = wrapStore(sharedStore(store), {
      createRun: async (creation) => {
        asked.resolve();
        await stored.promise;
        return store.createRun(creation);
      },
    });
    const { engine } = await createTestEngine(["hello"], { store: slow });
    const creation = start(engine, runRequest("hi"));
    await asked.promise;
    const closed = engine.close();
    stored.resolve();
    expect(await (await creation).result()).toMatchObject({
      status: RunStatus.FAILED,
      error: { message: "the sidecar stopped before the run ended" },
    });
    await closed;
    await store.close();
  });

  it("fails runs of waiting callers that are still in progress when it closes", async () => {
    const store = await openMemory();
    const { engine, model } = await createTestEngine(["hello"], { store: sharedStore(store) });
    model.beforeAnswer = untilAborted;
    const started = await start(engine, runRequest("hi"));
    const result = started.result();
    await waitUntil(() => model.requests.length === 1);
    await engine.close();
    expect(await result).toMatchObject({
      status: RunStatus.FAILED,
      error: { message: "the sidecar stopped before the run ended" },
    });
    expect((await store.getRun("", started.run.id))?.run.status).toBe(RunStatus.FAILED);
    await store.close();
  });
});
