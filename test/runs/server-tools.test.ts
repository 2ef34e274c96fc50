import { create } from "@bufbuild/protobuf";
import { functionTool, ServerError, userMessage } from "outrigger";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Role } from "../../src/gen/outrigger/v1/message_pb.ts";
import { type RunEvent, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { SubmitToolResultsRequestSchema } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { ToolSchema } from "../../src/gen/outrigger/v1/tool_pb.ts";
import type { ServerTools } from "../../src/runs/server-tools.ts";
import { openMemory } from "./store/sqlite/open-store.ts";
import { FakeServerTools, toolServer } from "./support/fake-server-tools.ts";
import {
  createTestEngine,
  getEvents,
  NEVER,
  run,
  runRequest,
  start,
  type TestEngine,
} from "./support/test-engine.ts";
import { sharedStore } from "./support/wrapped-store.ts";

let open: TestEngine[] = [];
let fake = new FakeServerTools([]);

async function engineWith(
  tools: FakeServerTools,
  ...[turns, options]: Parameters<typeof createTestEngine>
): Promise<TestEngine> {
  fake = tools;
  const made = await createTestEngine(turns, { ...options, serverTools: tools.serverTools });
  open.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(open.map(({ engine }) => engine.close()));
  open = [];
  expect(fake.open).toBe(0);
});

const withTools = { mcpServers: [toolServer] };

function toolEvents(events: readonly RunEvent[]): string[] {
  return events.flatMap(({ event }) => {
    if (event.case === "mcpToolStart") return [`start ${event.value.toolName}`];
    return event.case === "mcpToolFinish" ? [`finish ${event.value.toolName}`] : [];
  });
}

describe("the tools of servers", () => {
  it("run concurrently, and their events are sent as they happen", async () => {
    let running = 0;
    const both = Promise.withResolvers<void>();
    const tools = new FakeServerTools(["slow", "fast"], async ({ name }) => {
      running += 1;
      if (running === 2) both.resolve();
      await both.promise;
      if (name === "slow") await new Promise((resolve) => setTimeout(resolve, 5));
      return name;
    });
    const { engine, model } = await engineWith(tools, [[{ name: "slow" }, { name: "fast" }], "done"]);
    const started = await start(engine, runRequest("hi", withTools));
    const events = await getEvents(started.events);
    expect(toolEvents(events)).toEqual(["start slow", "start fast", "finish fast", "finish slow"]);
    const over = await started.result();
    expect(over.status).toBe(RunStatus.COMPLETED);
    expect(over.mcpTools.map(({ name }) => name)).toEqual(["slow", "fast"]);
    expect(over.steps[0]?.toolResults).toHaveLength(2);
    expect(model.requests[0]?.tools).toHaveLength(2);
    expect(await engine.getRun("", over.id)).toEqual(over);
  });

  it("have other names than the tools of the request", async () => {
    const tools = new FakeServerTools(["a"]);
    const { engine } = await engineWith(tools, ["done"]);
    const custom = create(ToolSchema, { tool: { case: "custom", value: { name: "custom" } } });
    const request = runRequest("hi", withTools);
    request.options?.request?.tools.push(functionTool({ name: "function" }), custom);
    await run(engine, request);
    expect(tools.takenNames).toEqual([["function", "custom"]]);
  });

  it("give the model an error result if they fail", async () => {
    const tools = new FakeServerTools(["broken"], async () => {
      throw new Error("the disk is full");
    });
    const { engine } = await engineWith(tools, [[{ name: "broken" }], "done"]);
    const over = await run(engine, runRequest("hi", withTools));
    expect(over.steps[0]?.toolResults).toMatchObject([
      { failed: true, content: [{ part: { value: "the disk is full" } }] },
    ]);
    expect(over.status).toBe(RunStatus.COMPLETED);
  });

  it("are executed no more often than max_tool_calls allows", async () => {
    const { engine } = await engineWith(new FakeServerTools(["a"]), [[{ name: "a" }]]);
    const options = {
      request: { model: "m", messages: [userMessage("hi")] },
      limits: { maxToolCalls: 2 },
    };
    const over = await run(engine, runRequest("", { ...withTools, options }));
    expect(fake.executed).toEqual(["a", "a"]);
    expect(over).toMatchObject({ status: RunStatus.INCOMPLETE, incompleteReason: 3 });
  });

  it("are not executed when the run has reached its cost limit, which makes it incomplete", async () => {
    const { engine } = await engineWith(new FakeServerTools(["a"]), [[{ name: "a" }]]);
    const options = {
      request: { model: "m", messages: [userMessage("hi")] },
      limits: { maxCostNanoUsd: 1000n },
    };
    const over = await run(engine, runRequest("", { ...withTools, options }));
    expect(fake.executed).toEqual([]);
    expect(over).toMatchObject({ status: RunStatus.INCOMPLETE, incompleteReason: 3 });
  });

  it("are inherited by the next run if it asks for that, without secrets", async () => {
    const { engine } = await engineWith(new FakeServerTools(["a"]), ["one", "two", "three"]);
    const server = { ...toolServer, authorization: "secret" };
    const first = await run(engine, runRequest("hi", { mcpServers: [server] }));
    const inherits = { previousRunId: first.id, inheritTools: true, background: true };
    const started = await start(engine, runRequest("x", inherits));
    expect(started.run.status).toBe(RunStatus.QUEUED);
    const second = await started.result();
    await run(engine, runRequest("y", { previousRunId: second.id }));
    expect(fake.asked).toEqual([["secret"], [""]]);
  });
});

describe("calls that need approval", () => {
  async function waiting(turns = [[{ name: "risky" }, { name: "a" }, { name: "risky_2" }], "done"]) {
    const made = await engineWith(new FakeServerTools(["risky", "risky_2", "a"]), turns);
    const first = await run(made.engine, runRequest("hi", withTools));
    expect(first.status).toBe(RunStatus.REQUIRES_ACTION);
    expect(first.requiredApprovals.map(({ name }) => name)).toEqual(["risky", "risky_2"]);
    expect(fake.executed).toEqual(["a"]);
    const [risky = "", other = ""] = first.requiredApprovals.map(({ id }) => id);
    return { ...made, first, risky, other };
  }

  it("are executed before the next call of the model, on the run that continues", async () => {
    const { engine, model, first, risky, other } = await waiting();
    const approvals = [
      { toolCallId: risky, approve: true },
      { toolCallId: other, reason: "no" },
    ];
    const options = { request: { model: "m" } };
    const request = runRequest("", { ...withTools, previousRunId: first.id, approvals, options });
    const started = await start(engine, request);
    const events = await getEvents(started.events);
    expect(toolEvents(events)).toEqual(["start risky", "finish risky"]);
    expect((await started.result()).status).toBe(RunStatus.COMPLETED);
    expect(fake.executed).toEqual(["a", "risky"]);
    const answered = model.requests[1]?.messages.slice(2).map(({ toolCallId }) => toolCallId);
    expect(answered?.toSorted()).toEqual(
      [...(first.steps[0]?.toolResults.map(({ toolCallId }) => toolCallId) ?? []), risky, other].toSorted(),
    );
  });

  it.each([true, false])(
    "may be in the input if the caller keeps the conversation (store: %s)",
    async (store) => {
      const { engine, model } = await engineWith(new FakeServerTools(["risky"]), ["done", "done again"]);
      const calls = ["call_yes", "call_no"].map((id) => ({ id, name: "risky" }));
      const request = runRequest("", {
        ...withTools,
        store,
        approvals: [
          { toolCallId: "call_yes", approve: true },
          { toolCallId: "call_no", reason: "not this" },
        ],
        options: {
          request: {
            model: "m",
            messages: [
              userMessage("hi"),
              {
                role: Role.ASSISTANT,
                content: calls.map(({ id, name }) => ({
                  part: {
                    case: "toolCall",
                    value: { id, name, input: { case: "argumentsJson", value: "{}" } },
                  },
                })),
              },
            ],
          },
        },
      });
      const first = await run(engine, request);
      expect(first.status).toBe(RunStatus.COMPLETED);
      expect(fake.executed).toEqual(["risky"]);
      const sent = model.requests[0]?.messages.map(({ role, toolCallId }) => [role, toolCallId]);
      expect(sent).toEqual([
        [Role.USER, ""],
        [Role.ASSISTANT, ""],
        [Role.TOOL, "call_yes"],
        [Role.TOOL, "call_no"],
      ]);
      if (!store) return;
      await run(engine, runRequest("and now?", { previousRunId: first.id }));
      const again = model.requests[1]?.messages.slice(0, 4);
      expect(new Set(again)).toEqual(new Set(model.requests[0]?.messages));
    },
  );

  it("are refused if no such call waits", async () => {
    const { engine } = await engineWith(new FakeServerTools(["risky"]), ["done"]);
    const request = runRequest("hi", { ...withTools, approvals: [{ toolCallId: "call_x", approve: true }] });
    await expect(run(engine, request)).rejects.toMatchObject({
      violations: [{ field: "approvals[0].tool_call_id" }],
    });
  });

  it("are executed when they are submitted, on the same run", async () => {
    const { engine, model, first, risky, other } = await waiting();
    const approvals = [
      { toolCallId: risky, approve: true },
      { toolCallId: other, approve: true },
    ];
    const submission = create(SubmitToolResultsRequestSchema, { runId: first.id, approvals });
    const resumed = await engine.submitToolResults(submission, { owner: "", signal: NEVER });
    const over = await resumed.result();
    expect(over.status).toBe(RunStatus.COMPLETED);
    expect(fake.executed).toEqual(["a", "risky", "risky_2"]);
    expect(over.steps[0]?.toolResults).toHaveLength(3);
    expect(over).toEqual(await engine.getRun("", over.id));
    expect(model.requests[1]?.messages).toHaveLength(5);
    const next = await run(engine, runRequest("and?", { previousRunId: over.id }));
    expect(next.warnings).toEqual([]);
  });

  it.each([true, false])("may be in a later step of a run (background: %s)", async (background) => {
    const turns = [[{ name: "a" }], [{ name: "a" }, { name: "risky" }, { name: "ask" }], "done"];
    const { engine, model } = await engineWith(new FakeServerTools(["risky", "a"]), turns);
    const options = {
      request: { model: "m", messages: [userMessage("hi")], tools: [functionTool({ name: "ask" })] },
    };
    const waiting = await run(engine, runRequest("", { ...withTools, background, options }));
    const submission = create(SubmitToolResultsRequestSchema, {
      runId: waiting.id,
      approvals: waiting.requiredApprovals.map(({ id }) => ({ toolCallId: id, approve: true })),
      results: waiting.requiredResults.map(({ id }) => ({ toolCallId: id })),
    });
    const resumed = await engine.submitToolResults(submission, { owner: "", signal: NEVER });
    const over = await resumed.result();
    expect(over).toMatchObject({ status: RunStatus.COMPLETED, usage: { totalTokens: 45 } });
    expect(fake.executed).toEqual(["a", "a", "risky"]);
    expect(over.steps.map(({ toolResults }) => toolResults.length)).toEqual([1, 3, 0]);
    expect(model.requests[2]?.messages.map(({ role }) => role)).toEqual([2, 3, 4, 3, 4, 4, 4]);
    expect(await engine.getRun("", over.id)).toEqual(over);
    const { elements } = await engine.threads.listMessages("", {
      threadId: over.threadId,
      after: "",
      limit: 20,
      order: "oldest first",
    });
    expect(elements.map(({ message }) => message?.role).toSorted()).toEqual([2, 3, 3, 3, 4, 4, 4, 4]);
  });

  it.each([true, false])(
    "are executed with the credentials of their servers, in the process that has them (background: %s)",
    async (background) => {
      const store = await openMemory();
      const tools = new FakeServerTools(["risky"]);
      const { engine } = await engineWith(tools, [[{ name: "risky" }], "done"], {
        store: sharedStore(store),
      });
      const server = { ...toolServer, authorization: "secret" };
      const first = await run(engine, runRequest("hi", { background, mcpServers: [server] }));
      const approvals = first.requiredApprovals.map(({ id }) => ({ toolCallId: id, approve: true }));
      const submission = create(SubmitToolResultsRequestSchema, { runId: first.id, approvals });
      const other = await createTestEngine(["never"], {
        store: sharedStore(store),
        serverTools: tools.serverTools,
      });
      await expect(other.engine.submitToolResults(submission, { owner: "", signal: NEVER })).rejects.toThrow(
        "credentials",
      );
      await other.engine.close();
      const resumed = await engine.submitToolResults(submission, { owner: "", signal: NEVER });
      expect(await resumed.result()).toMatchObject({ status: RunStatus.COMPLETED });
      expect(tools.asked).toEqual([["secret"], ["secret"]]);
    },
  );

  it("keep the cost of the run if their server is unavailable when it continues", async () => {
    const tools = new FakeServerTools(["risky"]);
    let opened = 0;
    const serverTools: ServerTools = {
      ...tools.serverTools,
      open: (...parameters) => {
        opened += 1;
        return opened === 1
          ? tools.serverTools.open(...parameters)
          : Promise.reject(new ServerError("the server is gone"));
      },
    };
    const { engine } = await createTestEngine([[{ name: "risky" }]], { serverTools });
    const first = await run(engine, runRequest("hi", withTools));
    const approvals = first.requiredApprovals.map(({ id }) => ({ toolCallId: id, approve: true }));
    const submission = create(SubmitToolResultsRequestSchema, { runId: first.id, approvals });
    const resumed = await engine.submitToolResults(submission, { owner: "", signal: NEVER });
    expect(await resumed.result()).toMatchObject({
      status: RunStatus.FAILED,
      usage: { totalTokens: 15 },
      attempts: [{ step: 1 }],
    });
    await engine.close();
  });

  it("are found on the run that was created last in a thread, whatever the clocks of the sidecars", async () => {
    const store = await openMemory();
    const { engine } = await engineWith(
      new FakeServerTools(["risky"]),
      ["one", [{ name: "risky" }], "done"],
      {
        store: sharedStore(store),
      },
    );
    const thread = await engine.threads.createThread("", { metadata: {}, messages: [] });
    const inThread = { ...withTools, threadId: thread.id };
    vi.setSystemTime(Date.now() + 60_000);
    await run(engine, runRequest("hi", inThread));
    vi.useRealTimers();
    const waiting = await run(engine, runRequest("hi", inThread));
    const approvals = waiting.requiredApprovals.map(({ id }) => ({ toolCallId: id, approve: true }));
    const options = { request: { model: "m" } };
    const over = await run(engine, runRequest("", { ...inThread, approvals, options }));
    expect(over.status).toBe(RunStatus.COMPLETED);
    expect(fake.executed).toEqual(["risky"]);
  });

  it("must all be answered, and no others", async () => {
    const { engine, first, risky } = await waiting();
    const approvals = [
      { toolCallId: risky, approve: true },
      { toolCallId: "call_x", approve: true },
    ];
    const submission = create(SubmitToolResultsRequestSchema, { runId: first.id, approvals });
    await expect(engine.submitToolResults(submission, { owner: "", signal: NEVER })).rejects.toMatchObject({
      violations: [{ field: "approvals[1].tool_call_id" }, { field: "approvals" }],
    });
    const options = { request: { model: "m", messages: [userMessage("x")] } };
    const request = runRequest("", { previousRunId: first.id, approvals, options });
    await expect(start(engine, request)).rejects.toMatchObject({
      violations: [{ field: "approvals[1].tool_call_id" }],
    });
  });

  it("can come together with calls of the caller's tools", async () => {
    const { engine } = await engineWith(new FakeServerTools(["risky"]), [
      [{ name: "risky" }, { name: "local" }],
      "done",
    ]);
    const options = {
      request: { model: "m", messages: [userMessage("hi")], tools: [functionTool({ name: "local" })] },
    };
    const first = await run(engine, runRequest("", { ...withTools, options }));
    const [approval] = first.requiredApprovals;
    const [result] = first.requiredResults;
    const submission = create(SubmitToolResultsRequestSchema, {
      runId: first.id,
      approvals: [{ toolCallId: approval?.id ?? "", approve: true }],
      results: [{ toolCallId: result?.id ?? "" }],
    });
    const resumed = await engine.submitToolResults(submission, { owner: "", signal: NEVER });
    expect(await resumed.result()).toMatchObject({ status: RunStatus.COMPLETED });
  });
});
