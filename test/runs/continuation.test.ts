/** Background runs continue in another process after their latest complete step, when their process ends or dies. */
import { create } from "@bufbuild/protobuf";
import { Client, FinishReason_Reason, functionTool, type Middleware, textOf, userMessage } from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import { ErrorKind } from "../../src/gen/outrigger/v1/error_pb.ts";
import {
  StepRestart_Reason as Reason,
  type Run,
  type RunEvent,
  RunStatus,
} from "../../src/gen/outrigger/v1/run_pb.ts";
import { SubmitToolResultsRequestSchema } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import type { RunStore } from "../../src/runs/store.ts";
import { ScriptedModel, type Turn } from "../generation/support/scripted-model.ts";
import { waitUntil } from "../kit/http/servers.ts";
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
  type TestEngine,
  untilAborted,
} from "./support/test-engine.ts";
import { mortalStore, sharedStore, wrapStore } from "./support/wrapped-store.ts";

type Options = Parameters<typeof createTestEngine>[1];

const PAUSED = FinishReason_Reason.OTHER;

let open: TestEngine[] = [];

/** Heartbeats are frequent, so that a dead process is noticed soon. */
const limits = { leaseMs: 300 };

async function processOn(store: RunStore, turns: readonly Turn[], options: Options = {}) {
  const made = await createTestEngine(turns, { limits, ...options, store: sharedStore(store) });
  open.push(made);
  return made;
}

/** A process that can die. */
async function mortalProcess(store: RunStore, turns: readonly Turn[], options: Options = {}) {
  const mortal = mortalStore(store);
  const made = await createTestEngine(turns, { limits, ...options, store: mortal.store });
  return { ...made, die: mortal.die };
}

/** A store in which the write of an event of one kind waits until it is released. */
function blockWrite(store: RunStore, kind: RunEvent["event"]["case"]) {
  const released = Promise.withResolvers<void>();
  let isBlocked = false;
  const slow = wrapStore(store, {
    write: async (write) => {
      if (write.events?.some(({ event }) => event.case === kind) === true) {
        isBlocked = true;
        await released.promise;
      }
      return store.write(write);
    },
  });
  return {
    store: slow,
    release: released.resolve,
    /** Resolves when the write waits, and other work has had its turns. */
    async reached() {
      await waitUntil(() => isBlocked);
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

afterEach(async () => {
  await Promise.all(open.map(({ engine }) => engine.close()));
  open = [];
});

async function waitForStatus({ engine }: TestEngine, runId: string, status: RunStatus): Promise<Run> {
  await expect.poll(async () => (await engine.getRun("", runId)).status, { timeout: 10_000 }).toBe(status);
  return engine.getRun("", runId);
}

function restartsIn(events: readonly RunEvent[]) {
  return events.flatMap(({ event, step }) =>
    event.case === "stepRestart" ? [{ ...event.value, step }] : [],
  );
}

function expectNoGaps(events: readonly RunEvent[]): void {
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
}

const background = (fields: Parameters<typeof runRequest>[1] = {}) =>
  runRequest("hi", { background: true, ...fields });

const withTools = { mcpServers: [toolServer] };

describe("a background run whose process is drained", () => {
  it("continues after its latest step, with the model called once more for the step that was cut", async () => {
    const store = await openMemory();
    const tools = new FakeServerTools(["a"]);
    const first = await processOn(store, [[{ name: "a" }], "never told"], { serverTools: tools.serverTools });
    first.model.beforeAnswer = (signal) =>
      first.model.requests.length === 2 ? untilAborted(signal) : Promise.resolve();
    const started = await start(first.engine, background(withTools));
    const read: RunEvent[] = [];
    const reading = (async () => {
      for await (const batch of started.events) read.push(...batch);
    })();
    await waitUntil(() => first.model.requests.length === 2);
    const cut = expect(reading).rejects.toThrow("resume the stream on another sidecar");
    await first.engine.drain();
    await cut;
    expect((await store.getRun("", started.run.id))?.run.status).toBe(RunStatus.QUEUED);
    const second = await processOn(store, ["done"], { serverTools: tools.serverTools });
    const over = await waitForStatus(second, started.run.id, RunStatus.COMPLETED);
    expect(tools.executed).toEqual(["a"]);
    expect([first, second].map(({ model }) => model.requests.length)).toEqual([2, 1]);
    expect(second.model.requests[0]?.messages).toHaveLength(3);
    expect(over.steps).toHaveLength(2);
    expect(over.usage).toMatchObject({ totalTokens: 30 });
    expect(over.attempts.map(({ step, error }) => [step, error?.kind])).toEqual([
      [1, undefined],
      [2, ErrorKind.ABORT],
      [2, undefined],
    ]);
    const events = await replay(second.engine, over.id);
    expectNoGaps(events);
    expect(restartsIn(events)).toMatchObject([
      { step: 2, reason: Reason.DRAINED, continuesAnswer: false, abandonedAttempt: { step: 2 } },
    ]);
    expect(events.filter(({ event }) => event.case === "stepFinish")).toHaveLength(2);
    const resumed = await replay(second.engine, over.id, read.at(-1)?.sequence);
    expect([...read, ...resumed]).toEqual(events);
    const { elements } = await second.engine.threads.listMessages("", {
      threadId: over.threadId,
      after: "",
      limit: 10,
      order: "oldest first",
    });
    expect(elements.map(({ message }) => message?.role)).toEqual([2, 3, 4, 3]);
  });

  it("is handed over without waiting for the model, while runs of waiting callers are finished", async () => {
    const store = await openMemory();
    const { engine, model } = await processOn(store, ["hello"]);
    const blocked = Promise.withResolvers<void>();
    model.beforeAnswer = (signal) => (model.requests.length === 1 ? blocked.promise : untilAborted(signal));
    const waiting = (await start(engine, runRequest("hi"))).result();
    await waitUntil(() => model.requests.length === 1);
    const { run: begun } = await start(engine, background());
    await waitUntil(() => model.requests.length === 2);
    const drained = engine.drain();
    await expect.poll(async () => (await store.getRun("", begun.id))?.run.status).toBe(RunStatus.QUEUED);
    blocked.resolve();
    await drained;
    expect(await waiting).toMatchObject({ status: RunStatus.COMPLETED });
  });

  it("continues even if its process is closed at once", async () => {
    const store = await openMemory();
    const { engine, model } = await createTestEngine(["never"], { store: sharedStore(store) });
    model.beforeAnswer = untilAborted;
    const { run: begun } = await start(engine, background());
    await waitUntil(() => model.requests.length === 1);
    await engine.close();
    expect((await store.getRun("", begun.id))?.run.status).toBe(RunStatus.QUEUED);
  });

  it("is not begun if the drain begins first", async () => {
    const store = await openMemory();
    const reached = Promise.withResolvers<void>();
    const blocked = Promise.withResolvers<void>();
    const slow = wrapStore(store, {
      readHistory: async (runId) => {
        reached.resolve();
        await blocked.promise;
        return store.readHistory(runId);
      },
    });
    const { engine, model } = await processOn(slow, ["never"]);
    model.beforeAnswer = untilAborted;
    const { run: queued } = await start(engine, background());
    await reached.promise;
    const drained = engine.drain();
    blocked.resolve();
    await drained;
    const { run: released } = (await store.getRun("", queued.id)) ?? {};
    expect(released).toMatchObject({ status: RunStatus.QUEUED, lastSequence: 0 });
    expect(model.requests).toEqual([]);
    const other = await processOn(store, ["done"]);
    await waitForStatus(other, queued.id, RunStatus.COMPLETED);
  });

  it("fails if its MCP servers need credentials, which no other process has", async () => {
    const store = await openMemory();
    const tools = new FakeServerTools(["a"]);
    const dying = await mortalProcess(store, ["hello"], { serverTools: tools.serverTools });
    dying.model.beforeAnswer = untilAborted;
    const server = { ...toolServer, authorization: "secret" };
    const { run: begun } = await start(dying.engine, background({ mcpServers: [server] }));
    await waitUntil(() => dying.model.requests.length === 1);
    dying.die();
    const other = await processOn(store, ["never"], { serverTools: tools.serverTools });
    const failed = await waitForStatus(other, begun.id, RunStatus.FAILED);
    expect(failed.error?.message).toContain("no other sidecar has the credentials of the run's MCP servers");
    expect(other.model.requests).toEqual([]);
  });
});

describe("a background run whose model is called for the second time when its process is drained", () => {
  it("continues until that step is complete, and then in another process", async () => {
    const store = await openMemory();
    const tools = new FakeServerTools(["a"]);
    const { serverTools } = tools;
    const dying = await mortalProcess(store, ["never"], { serverTools });
    dying.model.beforeAnswer = () => new Promise(() => {});
    const { run: begun } = await start(dying.engine, background(withTools));
    await waitUntil(() => dying.model.requests.length === 1);
    dying.die();
    const second = await processOn(store, [[{ name: "a" }], "never"], { serverTools });
    const blocked = Promise.withResolvers<void>();
    second.model.beforeAnswer = () => blocked.promise;
    await waitUntil(() => second.model.requests.length === 1);
    const drained = second.engine.drain();
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect((await store.getRun("", begun.id))?.run.status).toBe(RunStatus.IN_PROGRESS);
    blocked.resolve();
    await drained;
    expect(second.model.requests).toHaveLength(1);
    const third = await processOn(store, ["done"], { serverTools });
    const over = await waitForStatus(third, begun.id, RunStatus.COMPLETED);
    expect(over.steps).toHaveLength(2);
    expect(tools.executed).toEqual(["a"]);
  });
});

describe("a background run whose process dies", () => {
  it("has the tools of its servers stored before the model is called, so that the call is never forgotten", async () => {
    const slow = blockWrite(await openMemory(), "mcpToolList");
    const { serverTools } = new FakeServerTools(["a"]);
    const here = await processOn(slow.store, ["done"], { serverTools });
    const { run: begun } = await start(here.engine, background(withTools));
    await slow.reached();
    expect(here.model.requests).toEqual([]);
    slow.release();
    await waitForStatus(here, begun.id, RunStatus.COMPLETED);
  });

  it("has the start of a tool stored before the tool is called", async () => {
    const slow = blockWrite(await openMemory(), "mcpToolStart");
    const tools = new FakeServerTools(["a"]);
    const { serverTools } = tools;
    const { engine } = await processOn(slow.store, [[{ name: "a" }], "done"], { serverTools });
    const started = await start(engine, background(withTools));
    await slow.reached();
    expect(tools.executed).toEqual([]);
    slow.release();
    expect(await started.result()).toMatchObject({ status: RunStatus.COMPLETED });
    expect(tools.executed).toEqual(["a"]);
  });

  it.each<[kind: string, turns: readonly Turn[]]>([
    ["with tools", [[{ name: "a" }], "done"]],
    ["that the provider paused", ["one ", "two"]],
  ])("has the end of a step %s stored before the model is called again", async (_kind, turns) => {
    const slow = blockWrite(await openMemory(), "stepFinish");
    const model = new ScriptedModel(turns);
    const pause: Middleware = async (request, next) => {
      const response = await next(request);
      const isPaused = typeof turns[0] === "string" && model.requests.length === 1;
      if (!isPaused || response.finishReason === undefined) return response;
      return { ...response, finishReason: { ...response.finishReason, reason: PAUSED, raw: "pause_turn" } };
    };
    const client = new Client({
      providers: { scripted: model },
      middleware: [pause],
      fieldPaths: "contract",
    });
    const { serverTools } = new FakeServerTools(["a"]);
    const { engine } = await processOn(slow.store, [], { client, serverTools });
    const started = await start(engine, background(withTools));
    await slow.reached();
    const calls = model.requests.length;
    slow.release();
    expect(calls).toBe(1);
    expect(await started.result()).toMatchObject({ status: RunStatus.COMPLETED });
    expect(model.requests).toHaveLength(2);
  });

  it("fails if the processes that execute one of its steps die again and again", async () => {
    const store = await openMemory();
    const tools = new FakeServerTools(["deadly"], () => new Promise(() => {}), { readOnlyHint: true });
    let begun = "";
    for (let death = 1; death <= 4; death += 1) {
      const dying = await mortalProcess(store, [[{ name: "deadly" }]], { serverTools: tools.serverTools });
      begun ||= (await start(dying.engine, background(withTools))).run.id;
      await waitUntil(() => tools.executed.length === death);
      dying.die();
    }
    const survivor = await processOn(store, ["never"], { serverTools: tools.serverTools });
    const failed = await waitForStatus(survivor, begun, RunStatus.FAILED);
    expect(failed.error?.message).toContain("the sidecars that executed step 1 stopped 4 times");
    expect(failed.usage).toMatchObject({ totalTokens: 15 });
  }, 20_000);

  it("is taken over after the timeout of the process, with an event for the call that was in progress", async () => {
    const store = await openMemory();
    const dying = await mortalProcess(store, ["never"]);
    dying.model.beforeAnswer = () => new Promise(() => {});
    const { run: begun } = await start(dying.engine, background());
    await waitUntil(() => dying.model.requests.length === 1);
    dying.die();
    const survivor = await processOn(store, ["done"]);
    const over = await waitForStatus(survivor, begun.id, RunStatus.COMPLETED);
    expect(over.attempts.map(({ error }) => error?.kind)).toEqual([ErrorKind.ABORT, undefined]);
    const events = await replay(survivor.engine, begun.id);
    expectNoGaps(events);
    expect(restartsIn(events)).toMatchObject([{ step: 1, reason: Reason.LOST, abandonedAttempt: {} }]);
  });

  it("keeps an answer that was complete, and repeats no tool whose result is stored", async () => {
    const store = await openMemory();
    const tools = new FakeServerTools(["quick", "slow"], ({ name }) =>
      name === "slow" ? new Promise(() => {}) : Promise.resolve("quick result"),
    );
    const dying = await mortalProcess(store, [[{ name: "quick" }, { name: "slow" }]], {
      serverTools: tools.serverTools,
    });
    const { run: begun } = await start(dying.engine, background(withTools));
    await expect
      .poll(async () => (await store.readSteps(begun.id))[0]?.toolResults.length, { timeout: 5_000 })
      .toBe(1);
    expect(tools.executed).toEqual(["quick", "slow"]);
    dying.die();
    const survivor = await processOn(store, ["done"], { serverTools: tools.serverTools });
    const over = await waitForStatus(survivor, begun.id, RunStatus.COMPLETED);
    expect(tools.executed).toEqual(["quick", "slow"]);
    expect(over.steps[0]?.toolResults).toMatchObject([
      { failed: false },
      { failed: true, content: [{ part: { value: expect.stringContaining("and was not repeated") } }] },
    ]);
    const [, slow] = survivor.model.requests[0]?.messages.slice(-2) ?? [];
    expect(slow?.content[0]?.part.value).toMatchObject({ failed: true });
    const events = await replay(survivor.engine, begun.id);
    expectNoGaps(events);
    expect(restartsIn(events)).toMatchObject([
      { step: 1, continuesAnswer: true, interruptedToolCallIds: [over.steps[0]?.toolResults[1]?.toolCallId] },
    ]);
    expect(restartsIn(events)[0]?.abandonedAttempt).toBeUndefined();
    expect(events.filter(({ event }) => event.case === "stepFinish")).toHaveLength(2);
    const { elements } = await survivor.engine.threads.listMessages("", {
      threadId: over.threadId,
      after: "",
      limit: 10,
      order: "oldest first",
    });
    expect(elements.map(({ message }) => message?.role)).toEqual([2, 3, 4, 4, 3]);
    const answered = elements.flatMap(({ message }) => message?.toolCallId || []);
    expect(answered).toEqual(over.steps[0]?.toolResults.map(({ toolCallId }) => toolCallId));
  });

  it("continues its latest answer, after all steps before it", async () => {
    const store = await openMemory();
    const tools = new FakeServerTools(["quick", "slow"], ({ name }) =>
      name === "slow" ? new Promise(() => {}) : Promise.resolve("quick result"),
    );
    const { serverTools } = tools;
    const turns = [[{ name: "quick" }], [{ name: "quick" }, { name: "slow" }]];
    const dying = await mortalProcess(store, turns, { serverTools });
    const { run: begun } = await start(dying.engine, background(withTools));
    await expect
      .poll(async () => (await store.readSteps(begun.id))[1]?.toolResults.length, { timeout: 5_000 })
      .toBe(1);
    dying.die();
    const survivor = await processOn(store, ["done"], { serverTools });
    const over = await waitForStatus(survivor, begun.id, RunStatus.COMPLETED);
    expect(tools.executed).toEqual(["quick", "quick", "slow"]);
    expect(over.steps.map(({ toolResults }) => toolResults.map(({ failed }) => failed))).toEqual([
      [false],
      [false, true],
      [],
    ]);
    // The user's message, two answers with their three results.
    expect(survivor.model.requests.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
      [2, 3, 4, 3, 4, 4],
    ]);
    expect(over.usage).toMatchObject({ totalTokens: 45 });
    const events = await replay(survivor.engine, begun.id);
    expectNoGaps(events);
    expect(restartsIn(events)).toMatchObject([{ step: 2, continuesAnswer: true }]);
    expect(events.filter(({ event }) => event.case === "stepFinish").map(({ step }) => step)).toEqual([
      1, 2, 3,
    ]);
  });

  it.each(["readOnlyHint", "idempotentHint"])("calls a tool again that has the %s", async (hint) => {
    const store = await openMemory();
    let isStuck = true;
    const tools = new FakeServerTools(
      ["a"],
      () => (isStuck ? new Promise(() => {}) : Promise.resolve("seen")),
      { [hint]: true },
    );
    const dying = await mortalProcess(store, [[{ name: "a" }]], { serverTools: tools.serverTools });
    const { run: begun } = await start(dying.engine, background(withTools));
    await waitUntil(() => tools.executed.length === 1);
    dying.die();
    isStuck = false;
    const survivor = await processOn(store, ["done"], { serverTools: tools.serverTools });
    const over = await waitForStatus(survivor, begun.id, RunStatus.COMPLETED);
    expect(tools.executed).toEqual(["a", "a"]);
    expect(over.steps[0]?.toolResults).toMatchObject([{ failed: false }]);
    expect(over.attempts).toHaveLength(2);
  });

  it("calls the model at most twice for a step, and then fails with its cost", async () => {
    const store = await openMemory();
    let begun = "";
    for (let death = 0; death < 2; death += 1) {
      const dying = await mortalProcess(store, ["never"]);
      dying.model.beforeAnswer = () => new Promise(() => {});
      begun ||= (await start(dying.engine, background())).run.id;
      await waitUntil(() => dying.model.requests.length === 1);
      dying.die();
    }
    const survivor = await processOn(store, ["never"]);
    const failed = await waitForStatus(survivor, begun, RunStatus.FAILED);
    expect(failed.error).toMatchObject({
      message: expect.stringContaining("the model was called twice for step 1"),
      retryable: true,
    });
    expect(failed.attempts).toHaveLength(2);
    expect(survivor.model.requests).toEqual([]);
  }, 20_000);

  it("is cancelled and not continued if that was asked for", async () => {
    const store = await openMemory();
    const dying = await mortalProcess(store, ["never"]);
    dying.model.beforeAnswer = () => new Promise(() => {});
    const { run: begun } = await start(dying.engine, background());
    await waitUntil(() => dying.model.requests.length === 1);
    dying.die();
    await store.requestCancel("", begun.id);
    const survivor = await processOn(store, ["never"]);
    expect(await waitForStatus(survivor, begun.id, RunStatus.CANCELLED)).toMatchObject({
      cancelRequested: true,
    });
    expect(survivor.model.requests).toEqual([]);
  });

  it("calls an approved tool again that may be repeated, and does not ask for the approval again", async () => {
    const store = await openMemory();
    const tools: FakeServerTools = new FakeServerTools(
      ["risky"],
      () => (tools.executed.length === 1 ? new Promise(() => {}) : Promise.resolve("fine")),
      { idempotentHint: true },
    );
    const { serverTools } = tools;
    const dying = await mortalProcess(store, [[{ name: "risky" }], "never"], { serverTools });
    const waiting = await run(dying.engine, background(withTools));
    const approvals = waiting.requiredApprovals.map(({ id }) => ({ toolCallId: id, approve: true }));
    const submission = create(SubmitToolResultsRequestSchema, { runId: waiting.id, approvals });
    await dying.engine.submitToolResults(submission, { owner: "", signal: NEVER });
    await waitUntil(() => tools.executed.length === 1);
    dying.die();
    const survivor = await processOn(store, ["done"], { serverTools });
    const over = await waitForStatus(survivor, waiting.id, RunStatus.COMPLETED);
    expect(tools.executed).toEqual(["risky", "risky"]);
    expect(over.steps[0]?.toolResults).toMatchObject([{ failed: false }]);
    expectNoGaps(await replay(survivor.engine, over.id));
  });

  it("does not execute an approved call of an earlier run again", async () => {
    const store = await openMemory();
    const tools = new FakeServerTools(["risky"]);
    const { serverTools } = tools;
    const dying = await mortalProcess(store, [[{ name: "risky" }], "never"], { serverTools });
    const waiting = await run(dying.engine, runRequest("hi", withTools));
    dying.model.beforeAnswer = () => new Promise(() => {});
    const approvals = [{ toolCallId: waiting.requiredApprovals[0]?.id ?? "", approve: true }];
    const options = { request: { model: "m" } };
    const { run: begun } = await start(
      dying.engine,
      background({ ...withTools, previousRunId: waiting.id, approvals, options }),
    );
    await waitUntil(() => dying.model.requests.length === 2);
    expect(tools.executed).toEqual(["risky"]);
    dying.die();
    const survivor = await processOn(store, ["done"], { serverTools });
    await waitForStatus(survivor, begun.id, RunStatus.COMPLETED);
    expect(tools.executed).toEqual(["risky"]);
    expect(survivor.model.requests[0]?.messages).toHaveLength(3);
  });
});

describe("a foreground run whose process dies", () => {
  it("fails with the usage of its complete steps, and is not continued", async () => {
    const store = await openMemory();
    const tools = new FakeServerTools(["a"], () => new Promise(() => {}));
    const dying = await mortalProcess(store, [[{ name: "a" }]], { serverTools: tools.serverTools });
    const started = await start(dying.engine, runRequest("hi", withTools));
    void started.result();
    await expect.poll(async () => (await store.readSteps(started.run.id)).length).toBe(1);
    dying.die();
    const survivors = [await processOn(store, ["never"]), await processOn(store, ["never"])];
    const [survivor] = survivors;
    if (survivor === undefined) throw new Error("there is no survivor");
    const failed = await waitForStatus(survivor, started.run.id, RunStatus.FAILED);
    expect(failed).toMatchObject({
      usage: { totalTokens: 15 },
      attempts: [{}],
      error: { retryable: true, usage: { totalTokens: 15 } },
    });
    expect(survivors.flatMap(({ model }) => model.requests)).toEqual([]);
    expectNoGaps(await replay(survivor.engine, failed.id));
  });

  it("is cancelled if that was asked for", async () => {
    const store = await openMemory();
    const dying = await mortalProcess(store, ["never"]);
    dying.model.beforeAnswer = () => new Promise(() => {});
    const started = await start(dying.engine, runRequest("hi"));
    void started.result();
    await waitUntil(() => dying.model.requests.length === 1);
    dying.die();
    await store.requestCancel("", started.run.id);
    const survivor = await processOn(store, ["never"]);
    const cancelled = await waitForStatus(survivor, started.run.id, RunStatus.CANCELLED);
    expect(cancelled.error).toBeUndefined();
  });

  it("can no longer be written by a process that was considered dead", async () => {
    const store = await openMemory();
    const blocked = Promise.withResolvers<void>();
    const asleep = wrapStore(store, { renewLease: async () => [], close: async () => undefined });
    await store.renewLease({ id: "nobody", timeoutMs: 1 });
    const here = await createTestEngine(["hello"], { store: asleep, limits });
    open.push(here);
    here.model.beforeAnswer = () => blocked.promise;
    const started = await start(here.engine, runRequest("hi"));
    const result = started.result();
    const there = await processOn(store, ["never"]);
    await waitForStatus(there, started.run.id, RunStatus.FAILED);
    blocked.resolve();
    expect(await result).toMatchObject({ status: RunStatus.FAILED });
    const last = (await replay(there.engine, started.run.id)).at(-1)?.event;
    expect(last).toMatchObject({ case: "run", value: { status: RunStatus.FAILED } });
  });
});

describe("results that are submitted to a background run", () => {
  const options = {
    request: { model: "m", messages: [userMessage("hi")], tools: [functionTool({ name: "ask" })] },
  };

  it("queue it, and any process continues it", async () => {
    const store = await openMemory();
    const here = await processOn(store, [[{ name: "ask" }]]);
    const waiting = await run(here.engine, background({ options }));
    const busy = await processOn(store, ["never"], { limits: { ...limits, maxBackgroundRuns: 0 } });
    await here.engine.drain();
    const results = waiting.requiredResults.map(({ id }) => ({ toolCallId: id }));
    const submission = create(SubmitToolResultsRequestSchema, { runId: waiting.id, results });
    const resumed = await busy.engine.submitToolResults(submission, { owner: "", signal: NEVER });
    expect(resumed.run.status).toBe(RunStatus.QUEUED);
    const read = getEvents(resumed.events);
    const there = await processOn(store, ["done"]);
    const over = await waitForStatus(there, waiting.id, RunStatus.COMPLETED);
    expect(over.steps).toHaveLength(2);
    expect(there.model.requests[0]?.messages.map(({ role }) => role)).toEqual([2, 3, 4]);
    const events = await replay(there.engine, over.id);
    expect((await read).at(-1)).toEqual(events.at(-1));
    expect(textOf(over.steps[1]?.response)).toBe("done");
    expectNoGaps(events);
  });
});
