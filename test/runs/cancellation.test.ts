/** A run that is cancelled ends at once, in whatever phase it is, and closes the provider's socket. */
import { getEventListeners } from "node:events";
import { create } from "@bufbuild/protobuf";
import { functionTool, RequestTimeoutError, userMessage } from "outrigger";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ErrorKind } from "../../src/gen/outrigger/v1/error_pb.ts";
import { type RunEvent, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { SubmitToolResultsRequestSchema } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import type { StartedRun } from "../../src/runs/engine.ts";
import { RunEngine } from "../../src/runs/run-engine.ts";
import type { RunNotice } from "../../src/runs/store.ts";
import { waitUntil } from "../kit/http/servers.ts";
import { columns, createFixture, type Fixture } from "../providers/support/columns.ts";
import { openMemory } from "./store/sqlite/open-store.ts";
import { FakeServerTools, toolServer } from "./support/fake-server-tools.ts";
import {
  createTestEngine,
  getEvents,
  NEVER,
  replay,
  run,
  runRequest,
  start,
  untilAborted,
} from "./support/test-engine.ts";
import { sharedStore, wrapStore } from "./support/wrapped-store.ts";

let fixture: Fixture;
let engine: RunEngine;

beforeAll(async () => {
  fixture = await createFixture();
});

beforeEach(async () => {
  fixture.simulator.clearRequests();
  engine = new RunEngine({ client: fixture.client, store: await openMemory() });
});

afterEach(() => engine.close());

afterAll(() => fixture[Symbol.asyncDispose]());

const [column] = columns;

/** A run over the simulator. */
function simulated(model: string, fields: Parameters<typeof runRequest>[1] = {}) {
  const request = { model, provider: column?.name ?? "", messages: [userMessage("Count to ten.")] };
  return runRequest("", { ...fields, options: { request } });
}

/** Reads events until the model's first delta, and continues to read in the background. */
async function readToText(started: StartedRun): Promise<{ readonly rest: Promise<RunEvent[]> }> {
  const iterator = started.events[Symbol.asyncIterator]();
  for (let batch = await iterator.next(); !batch.done; batch = await iterator.next())
    if (
      batch.value.some(({ event }) => event.case === "modelEvent" && event.value.event.case === "textDelta")
    )
      break;
  return { rest: getEvents({ [Symbol.asyncIterator]: () => iterator }) };
}

const PHASES = [
  {
    title: "before the headers",
    model: "sim-text:delay_ms=60000",
    reach: () => fixture.simulator.waitForRequest(),
  },
  { title: "while the model writes", model: "sim-long:rate=5", reach: readToText },
];

describe.each(PHASES)("a run in the foreground that is cancelled $title", ({ model, reach }) => {
  it.each([true, false])(
    "closes the provider's socket when its caller disconnects (store: %s)",
    async (store) => {
      const caller = new AbortController();
      const started = await engine.createRun(
        { request: simulated(model, { store }) },
        { owner: "", signal: caller.signal },
      );
      await reach(started);
      caller.abort();
      expect(await fixture.simulator.waitForClose()).toMatchObject({ aborted: true });
      expect(await started.result()).toMatchObject({ status: RunStatus.CANCELLED, cancelRequested: false });
      expect(getEventListeners(caller.signal, "abort")).toEqual([]);
      if (store)
        expect(await engine.getRun("", started.run.id)).toMatchObject({ status: RunStatus.CANCELLED });
    },
  );

  it("closes it when the caller leaves the events", async () => {
    const started = await start(engine, simulated(model));
    const iterator = started.events[Symbol.asyncIterator]();
    await iterator.next();
    await fixture.simulator.waitForRequest();
    await iterator.return?.();
    expect(await fixture.simulator.waitForClose()).toMatchObject({ aborted: true });
    expect(await engine.getRun("", started.run.id)).toMatchObject({ status: RunStatus.CANCELLED });
  });

  it("closes it when the run is cancelled, and reports that in the last event", async () => {
    const started = await start(engine, simulated(model));
    const events = getEvents(started.events);
    await fixture.simulator.waitForRequest();
    const cancelled = await engine.cancelRun("", started.run.id);
    expect(cancelled).toMatchObject({ status: RunStatus.CANCELLED, cancelRequested: true });
    expect((await events).at(-1)?.event).toEqual({ case: "run", value: { ...cancelled, steps: [] } });
    expect(await replay(engine, cancelled.id)).toEqual(await events);
    expect(await fixture.simulator.waitForClose()).toMatchObject({ aborted: true });
  });

  it("fails when the caller's time runs out", async () => {
    const caller = new AbortController();
    const started = await engine.createRun(
      { request: simulated(model) },
      { owner: "", signal: caller.signal },
    );
    await reach(started);
    caller.abort(new RequestTimeoutError("the caller's deadline"));
    expect(await started.result()).toMatchObject({ status: RunStatus.FAILED, error: { kind: 200 } });
  });
});

describe("a run in the foreground whose answer comes whole", () => {
  it.each([
    { store: true, model: "sim-text:delay_ms=60000" },
    { store: false, model: "sim-text:delay_ms=60000" },
    { store: true, model: "sim-long:rate=5" },
    { store: false, model: "sim-long:rate=5" },
  ])("closes the provider's socket when its caller disconnects (%o)", async ({ store, model }) => {
    const caller = new AbortController();
    const options = { owner: "", signal: caller.signal, isStreamed: false };
    const started = await engine.createRun({ request: simulated(model, { store }) }, options);
    const result = started.result();
    await fixture.simulator.waitForRequest();
    caller.abort();
    expect(await fixture.simulator.waitForClose()).toMatchObject({ aborted: true });
    expect(await result).toMatchObject({ status: RunStatus.CANCELLED, steps: [] });
    expect(getEventListeners(caller.signal, "abort")).toEqual([]);
  });

  it("closes it when the run is cancelled", async () => {
    const options = { owner: "", signal: NEVER, isStreamed: false };
    const started = await engine.createRun({ request: simulated("sim-text:delay_ms=60000") }, options);
    const result = started.result();
    await fixture.simulator.waitForRequest();
    const cancelled = await engine.cancelRun("", started.run.id);
    expect(cancelled).toMatchObject({ status: RunStatus.CANCELLED, cancelRequested: true });
    expect(await result).toEqual(cancelled);
    expect(await fixture.simulator.waitForClose()).toMatchObject({ aborted: true });
  });
});

describe("a run in the background", () => {
  it("continues when its caller disconnects or stops reading", async () => {
    const caller = new AbortController();
    const request = simulated("sim-long:rate=200,tokens=20", { background: true });
    const started = await engine.createRun({ request }, { owner: "", signal: caller.signal });
    await readToText(started);
    caller.abort();
    await waitUntil(() => fixture.requests.every(({ closedAt }) => closedAt !== undefined));
    const [last] = (await replay(engine, started.run.id)).slice(-1);
    expect(last?.event).toMatchObject({ case: "run", value: { status: RunStatus.COMPLETED } });
  });

  it("is cancelled on request while the model writes", async () => {
    const started = await start(engine, simulated("sim-long:rate=5", { background: true }));
    const { rest } = await readToText(started);
    expect(await engine.cancelRun("", started.run.id)).toMatchObject({ status: RunStatus.CANCELLED });
    expect(await fixture.simulator.waitForClose()).toMatchObject({ aborted: true });
    expect((await rest).at(-1)?.event).toMatchObject({ value: { status: RunStatus.CANCELLED } });
  });
});

describe("a run without a provider's call in progress", () => {
  it("is cancelled in the queue, and never calls the model", async () => {
    const { engine: testEngine, model } = await createTestEngine(["hello"], {
      limits: { maxBackgroundRuns: 0 },
    });
    const started = await start(testEngine, runRequest("hi", { background: true }));
    const cancelled = await testEngine.cancelRun("", started.run.id);
    expect(cancelled).toMatchObject({ status: RunStatus.CANCELLED, cancelRequested: true });
    expect(await testEngine.cancelRun("", started.run.id)).toEqual(cancelled);
    expect((await getEvents(started.events)).map(({ sequence }) => sequence)).toEqual([0, 1]);
    expect(model.requests).toEqual([]);
    await testEngine.close();
  });

  it("is cancelled while its tools are executed, which sees the tool's signal aborted", async () => {
    const reached = Promise.withResolvers<AbortSignal>();
    const tools = new FakeServerTools(["a"], (_call, signal) => {
      reached.resolve(signal);
      return new Promise(() => {});
    });
    const { engine: testEngine } = await createTestEngine([[{ name: "a" }]], {
      serverTools: tools.serverTools,
    });
    const started = await start(testEngine, runRequest("hi", { mcpServers: [toolServer] }));
    const result = started.result();
    const signal = await reached.promise;
    await testEngine.cancelRun("", started.run.id);
    expect(signal.aborted).toBe(true);
    expect(await result).toMatchObject({ status: RunStatus.CANCELLED, usage: { totalTokens: 15 } });
    await testEngine.close();
    expect(tools.open).toBe(0);
  });

  it.each([true, false])("keeps the cost of its complete steps (background: %s)", async (background) => {
    const tools = new FakeServerTools(["a"]);
    const { engine: testEngine, model } = await createTestEngine([[{ name: "a" }], "never"], {
      serverTools: tools.serverTools,
    });
    model.beforeAnswer = (signal) => (model.requests.length === 2 ? untilAborted(signal) : Promise.resolve());
    const started = await start(testEngine, runRequest("hi", { background, mcpServers: [toolServer] }));
    const result = started.result();
    await waitUntil(() => model.requests.length === 2);
    await testEngine.cancelRun("", started.run.id);
    const cancelled = await result;
    expect(cancelled).toMatchObject({
      status: RunStatus.CANCELLED,
      usage: { totalTokens: 15, costNanoUsd: 1000n },
      attempts: [{ step: 1 }, { step: 2, error: { kind: ErrorKind.ABORT } }],
    });
    expect(cancelled.steps).toHaveLength(1);
    await testEngine.close();
  });

  it.each([true, false])(
    "is cancelled if that is asked for while it is being continued (background: %s)",
    async (background) => {
      const memory = await openMemory();
      const store = wrapStore(memory, {
        write: async (write) => {
          const isClaimed = await memory.write(write);
          const { status, lastSequence = 0 } = write.run ?? {};
          // Nobody in this process listens yet.
          if (status === RunStatus.IN_PROGRESS && lastSequence > 2)
            await memory.requestCancel("", write.claim.runId);
          return isClaimed;
        },
      });
      const { engine: testEngine, model } = await createTestEngine([[{ name: "local" }], "never"], { store });
      model.beforeAnswer = (signal) =>
        model.requests.length === 2 ? untilAborted(signal) : Promise.resolve();
      const options = {
        request: { model: "m", messages: [userMessage("hi")], tools: [functionTool({ name: "local" })] },
      };
      const waiting = await run(testEngine, runRequest("", { background, options }));
      const results = waiting.requiredResults.map(({ id }) => ({ toolCallId: id }));
      const submission = create(SubmitToolResultsRequestSchema, { runId: waiting.id, results });
      const resumed = await testEngine.submitToolResults(submission, { owner: "", signal: NEVER });
      const read = getEvents(resumed.events);
      await expect
        .poll(async () => (await testEngine.getRun("", waiting.id)).status, { timeout: 4_000 })
        .toBe(RunStatus.CANCELLED);
      await read;
      await testEngine.close();
    },
  );

  it("is cancelled while it requires action", async () => {
    const { engine: testEngine } = await createTestEngine([[{ name: "risky" }]], {
      serverTools: new FakeServerTools(["risky"]).serverTools,
    });
    const waiting = await run(testEngine, runRequest("hi", { mcpServers: [toolServer] }));
    expect(waiting.status).toBe(RunStatus.REQUIRES_ACTION);
    const cancelled = await testEngine.cancelRun("", waiting.id);
    expect(cancelled).toMatchObject({ status: RunStatus.CANCELLED, requiredApprovals: [] });
    await testEngine.close();
  });

  it("is cancelled although the process that executes it hands it over at the same time", async () => {
    const memory = await openMemory();
    const listeners: ((notice: RunNotice) => void)[] = [];
    const store = wrapStore(sharedStore(memory), {
      subscribe: (runId, listener) => {
        listeners.push(listener);
        return memory.subscribe(runId, listener);
      },
    });
    const { engine: testEngine, model } = await createTestEngine(["hello"], { store });
    model.beforeAnswer = untilAborted;
    const { run: queued } = await start(testEngine, runRequest("hi", { background: true }));
    await waitUntil(() => model.requests.length === 1);
    const drained = testEngine.drain();
    for (const listener of listeners) listener("cancel");
    await drained;
    expect((await memory.getRun("", queued.id))?.run).toMatchObject({
      status: RunStatus.CANCELLED,
      cancelRequested: true,
    });
    await testEngine.close();
    await memory.close();
  });

  it("is cancelled with the next heartbeat if the notice was lost", async () => {
    const store = await openMemory();
    const { engine: testEngine, model } = await createTestEngine(["hello"], {
      limits: { leaseMs: 300 },
      store: wrapStore(store, { subscribe: () => () => {} }),
    });
    model.beforeAnswer = untilAborted;
    const started = await start(testEngine, runRequest("hi"));
    const result = started.result();
    await waitUntil(() => model.requests.length === 1);
    await store.requestCancel("", started.run.id);
    expect(await result).toMatchObject({ status: RunStatus.CANCELLED, cancelRequested: true });
    await testEngine.close();
  });

  it("can be cancelled while it waits for its turn in a thread", async () => {
    const { engine: testEngine, model } = await createTestEngine(["hello"]);
    const blocked = Promise.withResolvers<void>();
    model.beforeAnswer = () => blocked.promise;
    const thread = await testEngine.threads.createThread("", { metadata: {}, messages: [] });
    const first = await start(testEngine, runRequest("hi", { threadId: thread.id }));
    const caller = new AbortController();
    const request = runRequest("hi", { threadId: thread.id });
    const second = testEngine.createRun({ request }, { owner: "", signal: caller.signal });
    setImmediate(() => caller.abort());
    await expect(second).rejects.toMatchObject({ kindName: "ABORT" });
    blocked.resolve();
    expect(await first.result()).toMatchObject({ status: RunStatus.COMPLETED });
    expect(model.requests).toHaveLength(1);
    await testEngine.close();
  });

  it("cannot be cancelled by another owner", async () => {
    const { engine: testEngine } = await createTestEngine(["hello"]);
    const mine = await run(testEngine, runRequest("hi"), "me");
    await expect(testEngine.cancelRun("you", mine.id)).rejects.toMatchObject({ kindName: "NOT_FOUND" });
    await expect(testEngine.getRun("you", mine.id)).rejects.toMatchObject({ kindName: "NOT_FOUND" });
    await expect(testEngine.deleteRun("you", mine.id)).rejects.toMatchObject({ kindName: "NOT_FOUND" });
    expect(
      await getEvents(testEngine.streamRun("you", mine.id, -1, NEVER)).catch((error: unknown) => error),
    ).toMatchObject({
      kindName: "NOT_FOUND",
    });
    await testEngine.close();
  });
});

it("a run that is deleted while it is in progress ends its call of the model", async () => {
  const { engine: testEngine, model } = await createTestEngine(["never"]);
  model.beforeAnswer = untilAborted;
  const { run: started } = await start(testEngine, runRequest("hi", { background: true }));
  await waitUntil(() => model.open === 1);
  await testEngine.deleteRun("", started.id);
  expect(model.open).toBe(0);
  await expect(testEngine.getRun("", started.id)).rejects.toMatchObject({ kindName: "NOT_FOUND" });
  await testEngine.close();
});
