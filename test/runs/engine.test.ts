import { create } from "@bufbuild/protobuf";
import { functionTool, textOf, toolCallsOf, toolResult, userMessage } from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import { RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { SubmitToolResultsRequestSchema } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { answerMessageId } from "../../src/runs/messages.ts";
import {
  createTestEngine,
  getEvents,
  NEVER,
  replay,
  run,
  runRequest,
  start,
  type TestEngine,
} from "./support/test-engine.ts";

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

const tools = [functionTool({ name: "ask_person" })];

describe("a run in the foreground", () => {
  it("begins with the run as it was created and ends with the run as GetRun returns it", async () => {
    const { engine } = await engineWith(["hello"]);
    const started = await start(engine, runRequest("hi", { metadata: { a: "b" } }));
    const events = await getEvents(started.events);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
    const [first, last] = [events[0]?.event, events.at(-1)?.event];
    expect(first).toEqual({ case: "run", value: started.run });
    const stored = await engine.getRun("", started.run.id);
    expect(last).toEqual({ case: "run", value: { ...stored, steps: [] } });
    expect(stored).toMatchObject({
      status: RunStatus.COMPLETED,
      metadata: { a: "b" },
      usage: { totalTokens: 15 },
      lastSequence: events.length - 1,
    });
    expect(textOf(stored.steps[0]?.response)).toBe("hello");
    expect(await started.result()).toEqual(stored);
  });

  it("carries the text of the model once, in the deltas", async () => {
    const { engine } = await engineWith(["a text that is told once"]);
    const events = await getEvents((await start(engine, runRequest("hi"))).events);
    const told = JSON.stringify(events, (_, value) => (typeof value === "bigint" ? Number(value) : value));
    expect(told.split("a text that is told once")).toHaveLength(2);
  });

  it("gives the same events again, from every sequence number on", async () => {
    const { engine } = await engineWith(["hello"]);
    const started = await start(engine, runRequest("hi"));
    const events = await getEvents(started.events);
    for (let after = -1; after < events.length; after++)
      expect(await replay(engine, started.run.id, after)).toEqual(events.slice(after + 1));
  });

  it("stores nothing with store false, and gives the same events", async () => {
    const { engine, store } = await engineWith(["hello"]);
    const kinds = async (isStored: boolean) => {
      const started = await start(engine, runRequest("hi", { store: isStored }));
      const events = await getEvents(started.events);
      return {
        id: started.run.id,
        kinds: events.map(({ sequence, step, event }) => [sequence, step, event.case]),
      };
    };
    const unstored = await kinds(false);
    await expect(engine.getRun("", unstored.id)).rejects.toMatchObject({ kindName: "NOT_FOUND" });
    expect((await store.listRuns("", { threadId: "", statuses: [], after: "", limit: 9 })).elements).toEqual(
      [],
    );
    expect((await kinds(true)).kinds).toEqual(unstored.kinds);
  });

  it.each([{ previousRunId: "run_x" }, { threadId: "thread_x" }, { background: true }])(
    "refuses %o together with store false",
    async (fields) => {
      const { engine } = await engineWith(["hello"]);
      const [field] = Object.keys(fields);
      await expect(start(engine, runRequest("hi", { ...fields, store: false }))).rejects.toMatchObject({
        kindName: "INVALID_REQUEST",
        violations: [{ field: field?.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) }],
      });
    },
  );
});

describe("a conversation", () => {
  it("reads the messages of earlier runs, but not their system message", async () => {
    const { engine, model } = await engineWith(["one", "two"]);
    const first = await run(
      engine,
      runRequest("hi", { options: { system: "be brief", prompt: "hi", request: { model: "m" } } }),
    );
    await run(engine, runRequest("and then?", { previousRunId: first.id }));
    expect(model.requests[0]?.messages.map((message) => textOf(message))).toEqual(["be brief", "hi"]);
    expect(model.requests[1]?.messages.map((message) => textOf(message))).toEqual(["hi", "one", "and then?"]);
    const messages = await engine.threads.listMessages("", {
      threadId: first.threadId,
      after: "",
      limit: 10,
      order: "oldest first",
    });
    expect(messages.elements[1]).toMatchObject({ id: answerMessageId(first.id, 1, false), output: true });
  });

  it("isolates two children of one run from each other", async () => {
    const { engine, model } = await engineWith(["root", "left", "right", "end"]);
    const root = await run(engine, runRequest("hi"));
    const left = await run(engine, runRequest("go left", { previousRunId: root.id }));
    const right = await run(engine, runRequest("go right", { previousRunId: root.id }));
    await run(engine, runRequest("go on", { previousRunId: left.id }));
    expect(left.threadId).toBe(root.threadId);
    expect(right.threadId).not.toBe(root.threadId);
    const texts = model.requests.map(({ messages }) => messages.map((message) => textOf(message)));
    expect(texts[2]).toEqual(["hi", "root", "go right"]);
    expect(texts[3]).toEqual(["hi", "root", "go left", "left", "go on"]);
  });

  it("executes the runs of a thread one at a time", async () => {
    const { engine, model } = await engineWith([(request) => `after ${request.messages.length}`]);
    const thread = await engine.threads.createThread("", { metadata: {}, messages: [] });
    const request = () => runRequest("hi", { threadId: thread.id });
    await Promise.all([run(engine, request()), run(engine, request()), run(engine, request())]);
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 5]);
  });

  it("tells the model that a call without a result was not executed", async () => {
    const { engine, model } = await engineWith([[{ name: "ask_person" }], "fine"]);
    const options = { request: { model: "m", messages: [userMessage("hi")], tools } };
    const first = await run(engine, runRequest("", { options }));
    expect(first.status).toBe(RunStatus.REQUIRES_ACTION);
    const second = await run(engine, runRequest("never mind", { previousRunId: first.id }));
    expect(second.warnings).toMatchObject([{ code: "unanswered_tool_call" }]);
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual([2, 3, 4, 2]);
    expect((await engine.getRun("", first.id)).status).toBe(RunStatus.COMPLETED);
  });

  it("refuses a result whose call is not in the history, and does not change the previous run", async () => {
    const { engine } = await engineWith(["one"]);
    const first = await run(engine, runRequest("hi"));
    const options = { request: { model: "m", messages: [toolResult("call_x", "text")] } };
    await expect(start(engine, runRequest("", { options, previousRunId: first.id }))).rejects.toMatchObject({
      kindName: "INVALID_REQUEST",
      violations: [{ field: "options.request.messages[0].content[0].tool_result.tool_call_id" }],
    });
    const next = await run(engine, runRequest("again", { previousRunId: first.id }));
    expect(next.threadId).toBe(first.threadId);
  });
});

describe("a run that requires action", () => {
  it("continues with the submitted results", async () => {
    const { engine, model } = await engineWith([[{ name: "ask_person" }], "thanks"]);
    const options = { request: { model: "m", messages: [userMessage("hi")], tools } };
    const started = await start(engine, runRequest("", { options }));
    const before = await getEvents(started.events);
    const waiting = await started.result();
    const [call] = waiting.requiredResults;
    expect(toolCallsOf(waiting.steps[0]?.response)).toEqual([call]);
    const results = [
      { toolCallId: call?.id ?? "", content: [{ part: { case: "text" as const, value: "42" } }] },
    ];
    const submission = create(SubmitToolResultsRequestSchema, { runId: waiting.id, results });
    const resumed = await engine.submitToolResults(submission, { owner: "", signal: NEVER });
    const after = await getEvents(resumed.events);
    const over = await resumed.result();
    expect(over).toMatchObject({
      status: RunStatus.COMPLETED,
      requiredResults: [],
      usage: { totalTokens: 30 },
    });
    expect(over.steps).toHaveLength(2);
    expect(over).toEqual(await engine.getRun("", over.id));
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual([2, 3, 4]);
    expect(await replay(engine, over.id)).toEqual([...before, ...after]);
  });
});

describe("a run in the background", () => {
  it("is queued, executed without a reader, and can be read afterwards", async () => {
    const { engine } = await engineWith(["hello"]);
    const started = await start(engine, runRequest("hi", { background: true }));
    expect(started.run.status).toBe(RunStatus.QUEUED);
    const over = await started.result();
    expect(over.status).toBe(RunStatus.COMPLETED);
    const statuses = (await replay(engine, over.id)).flatMap(({ event }) =>
      event.case === "run" ? [event.value.status] : [],
    );
    expect(statuses).toEqual([RunStatus.QUEUED, RunStatus.IN_PROGRESS, RunStatus.COMPLETED]);
  });
});
