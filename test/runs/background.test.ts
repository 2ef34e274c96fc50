/** Runs that nobody waits for: the queue, several processes on one store, their death, and the end of a sidecar. */
import { inspect } from "node:util";
import { functionTool, textOf, userMessage } from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import { ServerError } from "../../src/core/errors.ts";
import { type Run, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import type { RunLimits } from "../../src/runs/limits.ts";
import { MemoryStore } from "../../src/runs/stores/memory-store.ts";
import { waitUntil } from "../kit/http/servers.ts";
import { FakeServerTools, toolServer } from "./support/fake-server-tools.ts";
import {
  createTestEngine,
  eventsOf,
  replay,
  run,
  runRequest,
  start,
  type TestEngine,
  untilAborted,
} from "./support/test-engine.ts";
import { mortalStore, wrapStore } from "./support/wrapped-store.ts";

let open: TestEngine[] = [];

function engineWith(...parameters: Parameters<typeof createTestEngine>): TestEngine {
  const made = createTestEngine(...parameters);
  open.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(open.map(({ engine }) => engine.close()));
  open = [];
});

const background = (text: string) => runRequest(text, { background: true });

/** A process of several on one store. */
function processOn(store: MemoryStore, limits: Partial<RunLimits> = {}, turns = ["hello"]): TestEngine {
  return engineWith(turns, { store: wrapStore(store, { close: async () => undefined }), limits });
}

function statusesIn(events: Awaited<ReturnType<typeof replay>>): RunStatus[] {
  return events.flatMap(({ event }) => (event.case === "run" ? [event.value.status] : []));
}

async function waitForStatus({ engine }: TestEngine, runId: string, status: RunStatus): Promise<Run> {
  await expect.poll(async () => (await engine.getRun("", runId)).status, { timeout: 10_000 }).toBe(status);
  return engine.getRun("", runId);
}

describe("queued runs", () => {
  it("fail where they cannot be started", async () => {
    const store = new MemoryStore();
    const readHistory = () => Promise.reject(new ServerError("the history cannot be read"));
    const here = engineWith(["hello"], { store: wrapStore(store, { readHistory }) });
    const { run } = await start(here.engine, background("hi"));
    const failed = await waitForStatus(here, run.id, RunStatus.FAILED);
    expect(failed.error?.message).toContain("the history cannot be read");
    expect(statusesIn(await replay(here.engine, run.id))).toEqual([RunStatus.QUEUED, RunStatus.FAILED]);
    expect(here.model.requests).toEqual([]);
  });

  it("are executed by another process, and can be read and cancelled here", async () => {
    const store = new MemoryStore();
    const here = processOn(store, { maxBackgroundRuns: 0 });
    const there = processOn(store);
    const events = await eventsOf((await start(here.engine, background("hi"))).events);
    expect(statusesIn(events)).toEqual([RunStatus.QUEUED, RunStatus.IN_PROGRESS, RunStatus.COMPLETED]);
    expect([here.model.requests.length, there.model.requests.length]).toEqual([0, 1]);
    there.model.beforeAnswer = untilAborted;
    const second = await start(here.engine, background("hi"));
    await waitForStatus(here, second.run.id, RunStatus.IN_PROGRESS);
    await store.requestCancel("", second.run.id);
    expect(await here.engine.cancelRun("", second.run.id)).toMatchObject({ status: RunStatus.CANCELLED });
  });

  it("are each executed once by several processes", async () => {
    const store = new MemoryStore();
    const processes = [processOn(store), processOn(store), processOn(store)];
    const [first] = processes;
    const texts = Array.from({ length: 60 }, (_, index) => `run ${index}`);
    const started = await Promise.all(
      texts.map((text) => start(first?.engine ?? processOn(store).engine, background(text))),
    );
    for (const { result } of started) expect((await result()).status).toBe(RunStatus.COMPLETED);
    const asked = processes.flatMap(({ model }) => model.requests.map(({ messages }) => textOf(messages[0])));
    expect(asked.toSorted()).toEqual(texts.toSorted());
  });

  it("are executed after a restart", async () => {
    const store = new MemoryStore();
    const first = processOn(store, { maxBackgroundRuns: 0 });
    const { run: queued } = await start(first.engine, background("hi"));
    await first.engine.close();
    const second = processOn(store);
    expect(await waitForStatus(second, queued.id, RunStatus.COMPLETED)).toBeDefined();
  });

  it("read the conversation that they continue, with their system message", async () => {
    const { engine, model } = engineWith(["one", "two"]);
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

  it("are left alone where they are delivered once more while they require action", async () => {
    const memory = new MemoryStore();
    const handlers: ((runId: string) => Promise<void>)[] = [];
    const store = wrapStore(memory, {
      deliverQueued: (handle, concurrency) => {
        handlers.push(handle);
        return memory.deliverQueued(handle, concurrency);
      },
    });
    const { engine, model } = engineWith([[{ name: "own" }]], { store });
    const options = {
      request: { model: "m", messages: [userMessage("hi")], tools: [functionTool({ name: "own" })] },
    };
    const waiting = await run(engine, runRequest("", { background: true, options }));
    expect(waiting.status).toBe(RunStatus.REQUIRES_ACTION);
    await handlers[0]?.(waiting.id);
    expect(await engine.getRun("", waiting.id)).toEqual(waiting);
    expect(model.requests).toHaveLength(1);
    expect(await engine.cancelRun("", waiting.id)).toMatchObject({ status: RunStatus.CANCELLED });
  });

  it("are refused where too many wait, with an error that names the limit", async () => {
    const { engine } = engineWith([], { limits: { maxBackgroundRuns: 0, maxQueuedRuns: 2 } });
    await start(engine, background("1"));
    await start(engine, background("2"));
    await expect(start(engine, background("3"))).rejects.toMatchObject({
      kindName: "RATE_LIMIT",
      limit: "max_queued_runs",
    });
  });

  it("begin in the process that has their secrets", async () => {
    const store = new MemoryStore();
    const tools = new FakeServerTools(["a"]);
    const here = engineWith(["hello"], { store, serverTools: tools.serverTools });
    const there = processOn(store);
    const server = { ...toolServer, authorization: "secret", headers: { "x-key": "secret" } };
    const started = await start(here.engine, runRequest("hi", { background: true, mcpServers: [server] }));
    expect(started.run.status).toBe(RunStatus.IN_PROGRESS);
    expect((await started.result()).status).toBe(RunStatus.COMPLETED);
    expect(tools.asked).toEqual([["secret"]]);
    expect(there.model.requests).toEqual([]);
    expect(inspect(await store.getRun("", started.run.id), { depth: 20 })).not.toContain("secret");
  });
});

describe("a process that dies", () => {
  const limits = { leaseMs: 60 };

  it("leaves a run that another process declares failed, once, with what it cost", async () => {
    const memory = new MemoryStore();
    const mortal = mortalStore(memory);
    const tools = new FakeServerTools(["a"], () => new Promise(() => {}));
    const dying = createTestEngine([[{ name: "a" }]], {
      store: mortal.store,
      limits,
      serverTools: tools.serverTools,
    });
    const { run: begun } = await start(
      dying.engine,
      runRequest("hi", { background: true, mcpServers: [toolServer] }),
    );
    await waitUntil(() => tools.executed.length === 1);
    mortal.die();
    const survivors = [processOn(memory, limits), processOn(memory, limits)];
    const [survivor] = survivors;
    if (survivor === undefined) throw new Error("there is no survivor");
    const failed = await waitForStatus(survivor, begun.id, RunStatus.FAILED);
    expect(failed.error).toMatchObject({
      message: expect.stringContaining("stopped before the run was over"),
    });
    const events = await replay(survivor.engine, begun.id);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
    expect(statusesIn(events).filter((status) => status === RunStatus.FAILED)).toHaveLength(1);
    expect(survivors.flatMap(({ model }) => model.requests)).toEqual([]);
  }, 20_000);

  it("cannot write any more to a run that was declared failed", async () => {
    const memory = new MemoryStore();
    const blocked = Promise.withResolvers<void>();
    const paused = wrapStore(memory, { renewLeases: async () => [], close: async () => undefined });
    const here = engineWith(["hello"], { store: paused, limits });
    here.model.beforeAnswer = () => blocked.promise;
    const started = await start(here.engine, runRequest("hi"));
    const result = started.result();
    const there = processOn(memory, limits);
    await waitForStatus(there, started.run.id, RunStatus.FAILED);
    blocked.resolve();
    expect(await result).toMatchObject({ status: RunStatus.FAILED });
    expect(statusesIn(await replay(there.engine, started.run.id)).at(-1)).toBe(RunStatus.FAILED);
  }, 20_000);
});

describe("a sidecar that ends", () => {
  it("finishes runs under way while it drains, and starts no more", async () => {
    const { engine, model, store } = engineWith(["hello"], { limits: { maxBackgroundRuns: 1 } });
    const blocked = Promise.withResolvers<void>();
    model.beforeAnswer = () => blocked.promise;
    const inForeground = await start(engine, runRequest("hi"));
    const result = inForeground.result();
    const first = await start(engine, background("1"));
    const second = await start(engine, background("2"));
    await waitUntil(() => model.requests.length === 2);
    let isDrained = false;
    const drained = engine.drain().then(() => {
      isDrained = true;
    });
    await expect(start(engine, runRequest("late"))).rejects.toMatchObject({ kindName: "SERVER" });
    expect(isDrained).toBe(false);
    blocked.resolve();
    await drained;
    expect(await result).toMatchObject({ status: RunStatus.COMPLETED });
    const statuses = [first, second].map(async ({ run: { id } }) => (await store.getRun("", id))?.run.status);
    expect(await Promise.all(statuses)).toEqual([RunStatus.COMPLETED, RunStatus.QUEUED]);
  });

  it("fails runs that are still under way when it closes", async () => {
    const { engine, model, store } = createTestEngine(["hello"]);
    model.beforeAnswer = untilAborted;
    const started = await start(engine, runRequest("hi"));
    const result = started.result();
    const { run: begun } = await start(engine, background("hi"));
    await waitUntil(() => model.requests.length === 2);
    await engine.close();
    expect(await result).toMatchObject({ status: RunStatus.FAILED });
    expect((await store.getRun("", begun.id))?.run).toMatchObject({
      status: RunStatus.FAILED,
      error: { message: "the sidecar stopped before the run was over" },
    });
  });
});
