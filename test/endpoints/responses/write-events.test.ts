import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { MessageSink } from "../../../src/endpoints/responses/event-output.ts";
import { getSettings } from "../../../src/endpoints/responses/settings.ts";
import { ResponseEvents } from "../../../src/endpoints/responses/write-events.ts";
import type { ContentPartSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { FinishReason_Reason as Reason } from "../../../src/gen/outrigger/v1/response_pb.ts";
import {
  type RunEvent,
  RunEventSchema,
  RunStatus,
  StepRestart_Reason,
} from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { eventsIn, type ResponsesEvent } from "../support/events-in.ts";
import { expectWholeStream } from "../support/expect-whole-stream.ts";
import { callEvents, type ModelEvent, textEvents, toolCallEvents } from "./support/model-events.ts";
import { createRunEvents, RUN_ID, toRun } from "./support/run-events.ts";
import { runWith, written, writtenByCopy } from "./support/written.ts";

const DIGITS = RUN_ID.slice("run_".length);

function whole(partIndex: number, part: MessageInitShape<typeof ContentPartSchema>): ModelEvent {
  return { case: "partAdded", value: { partIndex, part } };
}

/** The types of the events between the first two and the last one, without `response.`. */
function getTypes(events: readonly ResponsesEvent[]): string[] {
  return events.slice(2, -1).map(({ type }) => type.replace("response.", ""));
}

function toOutput(events: readonly ResponsesEvent[]): Record<string, unknown>[] {
  const { response } = events.at(-1) as unknown as { response: { output: Record<string, unknown>[] } };
  return response.output;
}

/** Returns the events written for model calls, which are the same if a copy of the writer continues. */
function getEvents(calls: readonly StreamEvent[][], run = toRun()): readonly ResponsesEvent[] {
  const { events } = createRunEvents({ created: run, calls });
  const whole = written(events, run);
  for (const place of events.keys())
    expect(eventsIn(writtenByCopy(events, run, place)), `copied after ${place} events`).toEqual(whole);
  return whole;
}

describe("The events of a response", () => {
  it("have the text of a refusal as a refusal", () => {
    const [, ...rest] = textEvents(0, "I can", "not.");
    const events = getEvents([
      callEvents([
        { case: "textStart", value: { partIndex: 0, refusal: true } },
        ...rest.slice(0, -1),
        { case: "textEnd", value: { partIndex: 0 } },
      ]),
    ]);
    expect(getTypes(events)).toEqual([
      "output_item.added",
      "content_part.added",
      "refusal.delta",
      "refusal.delta",
      "refusal.done",
      "content_part.done",
      "output_item.done",
    ]);
    expectWholeStream(events);
    expect(toOutput(events)).toMatchObject([{ content: [{ type: "refusal", refusal: "I cannot." }] }]);
  });

  it("begin items in the order of the parts, even if a later part begins first", () => {
    const [start, delta, end] = textEvents(1, "Later");
    const [first, ...others] = textEvents(0, "Earlier");
    const events = getEvents([
      callEvents([start, delta, first, ...others, end].flatMap((event) => event ?? [])),
    ]);
    expectWholeStream(events);
    expect(toOutput(events)).toMatchObject([
      { id: `msg_${DIGITS}0001000`, content: [{ text: "Earlier" }] },
      { id: `msg_${DIGITS}0001001`, content: [{ text: "Later" }] },
    ]);
  });

  it("join the deltas of a part that waits for an earlier one", () => {
    const [start, ...later] = textEvents(1, "La", "te", "r");
    const events = getEvents([
      callEvents([start, ...later, ...textEvents(0, "Earlier")].flatMap((event) => event ?? [])),
    ]);
    expectWholeStream(events);
    const deltas = events.flatMap((event) => ("delta" in event ? [event.delta] : []));
    expect(deltas).toEqual(["Earlier", "Later"]);
  });

  it("leave out a text without characters", () => {
    expect(getTypes(getEvents([callEvents(textEvents(0))]))).toEqual([]);
  });

  it("count items over all steps", () => {
    const events = getEvents([
      callEvents(toolCallEvents(0, "a", "{}"), Reason.TOOL_CALLS),
      callEvents(textEvents(0, "Done")),
    ]);
    expectWholeStream(events);
    expect(toOutput(events)).toMatchObject([
      { type: "function_call", id: `fc_${DIGITS}0001000` },
      { type: "message", id: `msg_${DIGITS}0002000` },
    ]);
  });

  it("call tools by the names that the caller gave them", () => {
    const member = { type: "function", name: "read", parameters: {} };
    const run = runWith({ tools: [{ type: "namespace", name: "files", description: "", tools: [member] }] });
    const events = getEvents(
      [callEvents(toolCallEvents(0, "files__read", '{"a":1}'), Reason.TOOL_CALLS)],
      run,
    );
    expect(toOutput(events)).toMatchObject([{ name: "read", namespace: "files", arguments: '{"a":1}' }]);
    expect(events.find(({ type }) => type === "response.function_call_arguments.done")?.name).toBe("read");
  });

  it("have the text of a custom tool that the provider called as a function", () => {
    const run = runWith({ tools: [{ type: "custom", name: "run" }] });
    const events = getEvents(
      [callEvents(toolCallEvents(0, "run", '{"input":"ls \\"x\\""}'), Reason.TOOL_CALLS)],
      run,
    );
    expect(getTypes(events)).toEqual([
      "output_item.added",
      "custom_tool_call_input.delta",
      "custom_tool_call_input.done",
      "output_item.done",
    ]);
    expectWholeStream(events);
    expect(toOutput(events)).toMatchObject([{ type: "custom_tool_call", input: 'ls "x"' }]);
  });

  it("show the progress of a tool that the provider executed", () => {
    const data = {
      id: "ws_1",
      type: "web_search_call",
      status: "completed",
      action: { type: "search", query: "q" },
    };
    const native = { provider: "openai", kind: "web_search_call", dataJson: JSON.stringify(data) };
    const events = getEvents([callEvents([whole(0, { part: { case: "native", value: native } })])]);
    expect(getTypes(events)).toEqual([
      "output_item.added",
      "web_search_call.in_progress",
      "web_search_call.searching",
      "web_search_call.completed",
      "output_item.done",
    ]);
    expectWholeStream(events);
    expect(toOutput(events)).toEqual([{ ...data, id: `ws_${DIGITS}0001000` }]);
  });

  it.each([
    [
      { id: "fs_1", type: "file_search_call", status: "completed", queries: ["q"], results: null },
      ["file_search_call.in_progress", "file_search_call.searching", "file_search_call.completed"],
    ],
    [
      {
        id: "ci_1",
        type: "code_interpreter_call",
        status: "completed",
        code: "1 + 1",
        container_id: "c",
        outputs: null,
      },
      [
        "code_interpreter_call.in_progress",
        "code_interpreter_call_code.delta",
        "code_interpreter_call_code.done",
        "code_interpreter_call.interpreting",
        "code_interpreter_call.completed",
      ],
    ],
    [
      { id: "ig_1", type: "image_generation_call", status: "completed", result: "aGk=" },
      [
        "image_generation_call.in_progress",
        "image_generation_call.generating",
        "image_generation_call.completed",
      ],
    ],
  ])("show the progress of %o", (data, progress) => {
    const native = { provider: "openai", kind: data.type, dataJson: JSON.stringify(data) };
    const events = getEvents([callEvents([whole(0, { part: { case: "native", value: native } })])]);
    expect(getTypes(events)).toEqual(["output_item.added", ...progress, "output_item.done"]);
    expectWholeStream(events);
    expect(toOutput(events)).toMatchObject([{ type: data.type, status: "completed" }]);
    const [added] = events.filter(({ type }) => type === "response.output_item.added");
    expect(added).toMatchObject({ item: { type: data.type, status: "in_progress" } });
    const early = JSON.stringify(added);
    for (const late of ["aGk=", "1 + 1", '["q"]']) expect(early).not.toContain(late);
  });

  it.each([
    [null, "completed"],
    ["the server cannot be reached", "failed"],
  ])("show that the tools of a server were listed with the error %o", (error, end) => {
    const data = { id: "mcpl_1", type: "mcp_list_tools", server_label: "s", tools: [], error };
    const native = { provider: "openai", kind: data.type, dataJson: JSON.stringify(data) };
    const events = getEvents([callEvents([whole(0, { part: { case: "native", value: native } })])]);
    const progress = ["mcp_list_tools.in_progress", `mcp_list_tools.${end}`];
    expect(getTypes(events)).toEqual(["output_item.added", ...progress, "output_item.done"]);
  });

  it.each([
    ["web_search_call", "ws"],
    ["file_search_call", "fs"],
    ["code_interpreter_call", "ci"],
    ["image_generation_call", "ig"],
    ["computer_call", "cu"],
    ["local_shell_call", "lsh"],
    ["shell_call", "sh"],
    ["apply_patch_call", "apc"],
    ["compaction", "cmp"],
    ["tool_search_call", "tsc"],
    ["tool_search_output", "tso"],
  ])("name items of the type %s by ids that begin with %s", (type, prefix) => {
    const native = { provider: "openai", kind: type, dataJson: JSON.stringify({ id: "x_1", type }) };
    const events = getEvents([callEvents([whole(0, { part: { case: "native", value: native } })])]);
    expect(toOutput(events)).toEqual([{ id: `${prefix}_${DIGITS}0001000`, type }]);
  });

  it("name blocks of other providers by the provider, with the unchanged block", () => {
    const dataJson = '{"type":"server_tool_use","input":{"b":1,"a":12345678901234567890}}';
    const native = { provider: "anthropic", kind: "server_tool_use", dataJson };
    const run = toRun();
    const { events } = createRunEvents({
      created: run,
      calls: [callEvents([whole(0, { part: { case: "native", value: native } })])],
    });
    const sink = new MessageSink();
    const writer = ResponseEvents.create(run, sink, { startingAfter: -1, pads: false }, getSettings(run));
    writer.push(events);
    expect(writer.last).toContain(`"data":${dataJson}`);
    expect(writer.last).toContain('"type":"anthropic:server_tool_use"');
  });

  it("have reasoning as a summary if the request asks for one, and as content otherwise", () => {
    const reasoning: ModelEvent[] = [
      { case: "reasoningStart", value: { partIndex: 0 } },
      { case: "reasoningDelta", value: { partIndex: 0, delta: "Hm." } },
      { case: "reasoningEnd", value: { partIndex: 0 } },
      ...textEvents(1, "Yes"),
    ];
    const asked = getEvents(
      [callEvents(reasoning)],
      runWith({ reasoning: { effort: "low", summary: "auto" } }),
    );
    expectWholeStream(asked);
    expect(toOutput(asked)[0]).toMatchObject({ summary: [{ type: "summary_text", text: "Hm." }] });
    const plain = getEvents([callEvents(reasoning)]);
    expectWholeStream(plain);
    expect(toOutput(plain)[0]).toMatchObject({
      summary: [],
      content: [{ type: "reasoning_text", text: "Hm." }],
    });
  });

  it("carry the state of calls in a reasoning item if nothing is kept", () => {
    const providerState = { provider: "gemini", model: "m", dataJson: '{"part":{"thoughtSignature":"s"}}' };
    const [start, delta, end] = toolCallEvents(0, "a", "{}");
    const signed = { case: "toolCallEnd", value: { ...(end?.value as object), providerState } } as ModelEvent;
    const calls = [
      callEvents(
        [start, delta, signed].flatMap((event) => event ?? []),
        Reason.TOOL_CALLS,
      ),
    ];
    const kept = getEvents(calls);
    expect(toOutput(kept).map(({ type }) => type)).toEqual(["function_call"]);
    const events = getEvents(calls, runWith({ store: false }));
    expectWholeStream(events);
    expect(toOutput(events)).toMatchObject([
      { type: "function_call" },
      { type: "reasoning", summary: [], encrypted_content: expect.stringMatching(/^or1\./) },
    ]);
  });

  it("mark the last item of an answer that was cut", () => {
    const calls = [callEvents([...textEvents(0, "One"), ...textEvents(1, "Tw")], Reason.LENGTH)];
    const run = toRun();
    const { events } = createRunEvents({ created: run, calls, end: { status: RunStatus.INCOMPLETE } });
    const stream = written(events, run);
    expectWholeStream(stream);
    expect(stream.at(-1)?.type).toBe("response.incomplete");
    expect(toOutput(stream).map(({ status }) => status)).toEqual(["completed", "incomplete"]);
  });

  it("end a response that was cancelled as incomplete, without the items that a step had begun", () => {
    const run = toRun();
    const calls = [
      callEvents(textEvents(0, "Kept"), Reason.TOOL_CALLS),
      callEvents(textEvents(0, "Begun")).slice(0, 3),
    ];
    const { events } = createRunEvents({ created: run, calls, end: { status: RunStatus.CANCELLED } });
    const last = written(events, run).at(-1);
    expect(last).toMatchObject({ type: "response.incomplete", response: { status: "cancelled" } });
    expect(last?.response).toMatchObject({ output: [{ content: [{ text: "Kept" }] }] });
  });

  it("are queued first if the run is", () => {
    const run = toRun({ status: RunStatus.QUEUED, background: true });
    const begun = create(RunEventSchema, { event: { case: "run", value: toRun({ background: true }) } });
    const { events } = createRunEvents({ created: run, calls: [callEvents(textEvents(0, "Hi"))] });
    const stream = written([...events.slice(0, 1), begun, ...events.slice(1)], run);
    expect(stream.slice(0, 3).map(({ type }) => type)).toEqual([
      "response.created",
      "response.queued",
      "response.in_progress",
    ]);
    expectWholeStream(stream);
  });

  it("pad deltas to multiples of 16 characters if that is asked for", () => {
    const run = toRun();
    const { events } = createRunEvents({
      created: run,
      calls: [callEvents(textEvents(0, "a", "0123456789abcdef", "0123456789abcdefg"))],
    });
    const sink = new MessageSink();
    const writer = ResponseEvents.create(run, sink, { startingAfter: -1, pads: true }, getSettings(run));
    writer.push(events);
    const deltas = sink
      .take()
      .map((message) => JSON.parse(message))
      .filter(({ type }) => type.endsWith("text.delta"));
    expect(deltas.map(({ delta, obfuscation }) => (delta + obfuscation).length)).toEqual([16, 16, 32]);
  });

  it("do not end if the run's events do not", () => {
    const run = toRun();
    const { events } = createRunEvents({ created: run, calls: [callEvents(textEvents(0, "Hi"))] });
    expect(() => written(events.slice(0, -1), run)).toThrow("ended before the run did");
  });
});

describe("The events of tools of MCP servers", () => {
  const tool = {
    name: "docs__search",
    serverLabel: "docs",
    toolName: "search",
    description: "Searches",
    inputSchemaJson: '{"type":"object"}',
  };
  const search = {
    id: "call_0",
    name: tool.name,
    input: { case: "argumentsJson", value: '{"q":1}' },
  } as const;
  const names = { serverLabel: "docs", toolName: "search" };
  type Value = NonNullable<MessageInitShape<typeof RunEventSchema>["event"]>;

  /** A run whose model calls the tool; what follows, and its end. */
  function runOfCall(
    after: readonly Value[],
    status: RunStatus,
    approvals: readonly object[] = [],
  ): readonly ResponsesEvent[] {
    const run = toRun();
    const model = callEvents(toolCallEvents(0, tool.name, '{"q":1}'), Reason.TOOL_CALLS);
    const { events, run: ended } = createRunEvents({ created: run, calls: [model] });
    const list: Value = { case: "mcpToolList", value: { serverLabel: "docs", tools: [tool] } };
    const finish = events.findIndex(({ event }) => event.case === "stepFinish");
    const last = { ...ended, status, requiredApprovals: approvals } as typeof ended;
    const all = [
      events[0],
      create(RunEventSchema, { event: list }),
      ...events.slice(1, finish),
      ...after.map((event) => create(RunEventSchema, { step: 1, event })),
      events[finish],
      create(RunEventSchema, { event: { case: "run", value: last } }),
    ].filter((event): event is RunEvent => event !== undefined);
    const whole = written(all, run);
    for (const place of all.keys())
      expect(eventsIn(writtenByCopy(all, run, place)), `copied after ${place} events`).toEqual(whole);
    return whole;
  }

  const result = (failed: boolean): Value[] => [
    { case: "mcpToolStart", value: { call: search, ...names } },
    {
      case: "mcpToolFinish",
      value: {
        ...names,
        result: { toolCallId: "call_0", failed, content: [{ part: { case: "text", value: "Found" } }] },
      },
    },
  ];
  const listTypes = [
    "output_item.added",
    "mcp_list_tools.in_progress",
    "mcp_list_tools.completed",
    "output_item.done",
  ];

  it("list the tools, and show a call with its result", () => {
    const events = runOfCall(result(false), RunStatus.COMPLETED);
    expect(getTypes(events)).toEqual([
      ...listTypes,
      "output_item.added",
      "mcp_call.in_progress",
      "mcp_call_arguments.delta",
      "mcp_call_arguments.done",
      "mcp_call.completed",
      "output_item.done",
    ]);
    expectWholeStream(events);
    expect(toOutput(events)).toMatchObject([
      {
        type: "mcp_list_tools",
        // Number 1 of the items without a message, which an id names as parts of message 0.
        id: `mcpl_${DIGITS}0000001`,
        server_label: "docs",
        tools: [{ name: "search", description: "Searches" }],
      },
      {
        type: "mcp_call",
        name: "search",
        server_label: "docs",
        arguments: '{"q":1}',
        output: "Found",
        error: null,
      },
    ]);
  });

  it("say that a call failed", () => {
    const events = runOfCall(result(true), RunStatus.COMPLETED);
    expect(getTypes(events)).toContain("mcp_call.failed");
    expect(toOutput(events)[1]).toMatchObject({
      status: "failed",
      output: null,
      error: { type: "mcp_tool_execution_error", content: [{ type: "text", text: "Found" }] },
    });
  });

  it("ask for approval in the place of the call", () => {
    const events = runOfCall([], RunStatus.REQUIRES_ACTION, [search]);
    expect(getTypes(events)).toEqual([...listTypes, "output_item.added", "output_item.done"]);
    expectWholeStream(events);
    expect(events.at(-1)?.type).toBe("response.completed");
    expect(toOutput(events)[1]).toEqual({
      type: "mcp_approval_request",
      id: `mcpr_${DIGITS}0001000`,
      name: "search",
      server_label: "docs",
      arguments: '{"q":1}',
    });
  });

  it("keep a call that was not executed", () => {
    const events = runOfCall([], RunStatus.INCOMPLETE);
    expectWholeStream(events);
    expect(toOutput(events)[1]).toMatchObject({ type: "mcp_call", status: "incomplete", output: null });
  });
});

describe("The events of a step that was begun again", () => {
  const whole: readonly ModelEvent[] = [...textEvents(0, "First"), ...toolCallEvents(1, "f", '{"a":1}')];
  const last = textEvents(0, "Whole", " answer.");

  /** The events of a run whose process stopped after some events of its model call. */
  function runRestartedAfter(count: number): readonly RunEvent[] {
    const { events } = createRunEvents({ calls: [callEvents(textEvents(0, "Before")), callEvents(last)] });
    const begin = events.findIndex(({ step }) => step === 2);
    const abandoned = callEvents([...whole])
      .slice(0, count)
      .map((value) => ({ step: 2, event: { case: "modelEvent", value } as const }));
    const value = { reason: StepRestart_Reason.LOST, abandonedAttempt: { step: 2 } };
    const restart = { step: 2, event: { case: "stepRestart", value } as const };
    return [...events.slice(0, begin), ...abandoned, restart, ...events.slice(begin)].map((event, sequence) =>
      create(RunEventSchema, { step: event.step, event: event.event, sequence }),
    );
  }

  it.each([
    ["before its first item", 1, []],
    ["within a text", 3, ["message"]],
    ["between two items", 4, ["message"]],
    ["within a call", 6, ["message", "function_call"]],
    ["after its last item", 7, ["message", "function_call"]],
  ] as const)("are the same for a reader from a mark if it was abandoned %s", (_name, count, begun) => {
    const run = toRun();
    const events = runRestartedAfter(count);
    const all = written(events, run);
    for (const place of events.keys())
      expect(eventsIn(writtenByCopy(events, run, place)), `copied after ${place} events`).toEqual(all);
    const items = all.flatMap(({ type, item }) => (type === "response.output_item.done" ? [item] : []));
    const abandoned = begun.map((type, index) => {
      const status = index === begun.length - 1 ? "incomplete" : "completed";
      return expect.objectContaining({ type, status });
    });
    const answer = expect.objectContaining({ type: "message", status: "completed" });
    expect(items).toEqual([answer, ...abandoned, answer]);
    expect(toOutput(all)).toMatchObject([
      { id: `msg_${DIGITS}0001000`, content: [{ text: "Before" }] },
      { id: `msg_${DIGITS}8002000`, content: [{ text: "Whole answer." }] },
    ]);
  });
});
