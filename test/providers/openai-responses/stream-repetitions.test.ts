/** Servers that repeat themselves, split characters, or send unknown events. */

import { describe, expect, it } from "vitest";
import { toResponse } from "../../../src/providers/openai-responses/response.ts";
import { factsFor } from "../../support/decode.ts";
import { callEvents, callState, START, STOP, TOOL_CALLS, textEvents, textState } from "./describe-event.ts";
import {
  added,
  argumentsDelta,
  CREATED,
  call,
  completed,
  done,
  message,
  type Sent,
  stream,
  summaryDelta,
  textDelta,
} from "./streaming.ts";

describe("a stream of a server that repeats itself", () => {
  it("uses the first of repeated events", async () => {
    const { events } = await stream([
      CREATED,
      CREATED,
      added(0, message("")),
      added(0, message("")),
      textDelta(0, "Hey"),
      done(0, message("Hey")),
      done(0, message("Hey")),
      added(0, message("")),
      completed({ output: [message("Hey")] }),
    ]);
    expect(events).toEqual([START, ...textEvents(0, ["Hey"]), STOP]);
  });

  it("starts a call once if its start is repeated", async () => {
    const { events } = await stream([
      CREATED,
      added(0, call("")),
      argumentsDelta(0, '{"a"'),
      added(0, call("")),
      argumentsDelta(0, ":1}"),
      done(0, call('{"a":1}')),
      completed(),
    ]);
    expect(events).toEqual([START, ...callEvents(0, ['{"a"', ":1}"]), TOOL_CALLS]);
  });

  it("separates items that have the same index", async () => {
    const reasoning = { type: "reasoning", id: "rs_1", summary: [] };
    const { events } = await stream([
      CREATED,
      added(0, reasoning),
      done(0, reasoning),
      added(0, call("")),
      argumentsDelta(0, "{}"),
      done(0, call("{}")),
      added(0, message("", { content: [] })),
      textDelta(0, "Hey"),
      done(0, message("Hey")),
      completed({ output: [reasoning, call("{}"), message("Hey")] }),
    ]);
    expect(events).toEqual([
      START,
      { reasoningStart: 0 },
      { reasoningEnd: 0, reasoning: "", redacted: false, state: { item: reasoning } },
      ...callEvents(1, ["{}"]),
      ...textEvents(2, ["Hey"]),
      TOOL_CALLS,
    ]);
  });

  it("gives each call a unique id if ids repeat or are missing", async () => {
    const ids = ["call_1", "call_1", "", ""];
    const sent = ids.flatMap((call_id, index) => {
      const item = call("{}", { id: `fc_${index}`, call_id });
      return [added(index, { ...item, arguments: "" }), done(index, item)];
    });
    const { events } = await stream([CREATED, ...sent, completed()]);
    expect(events).toEqual([
      START,
      ...["call_1", "call_1_2", "call_test", "call_test_2"].flatMap((id, index) =>
        callEvents(index, ["{}"], { id }, callState({ id: `fc_${index}` })),
      ),
      TOOL_CALLS,
    ]);
  });

  it("gives a call a new id if an earlier turn used it", async () => {
    const value = { id: "call_1", name: "look", input: { case: "argumentsJson", value: "{}" } } as const;
    const messages = [{ content: [{ part: { case: "toolCall", value } as const }] }];
    const { events } = await stream([CREATED, done(0, call("{}")), completed()], { messages });
    expect(events[1]).toEqual({
      callStart: 0,
      name: "look",
      id: "call_1_2",
      type: "function",
    });
  });

  it("assigns events by index if the item's id changes with every event", async () => {
    const { events } = await stream([
      CREATED,
      added(0, message("", { id: "a" })),
      textDelta(0, "Hey", { item_id: "b" }),
      done(0, message("Hey", { id: "c" })),
      completed({ output: [message("Hey", { id: "d" })] }),
    ]);
    expect(events).toEqual([START, ...textEvents(0, ["Hey"], textState({ id: "c" })), STOP]);
  });
});

describe("a stream of a server that counts differently", () => {
  const reasoning = {
    type: "reasoning",
    id: "rs_1",
    summary: [],
    content: [{ type: "reasoning_text", text: "Hm" }],
  };
  const thought = { type: "response.reasoning_text.delta", output_index: 0, content_index: 0, delta: "Hm" };
  const partAdded = (index: number, content_index: number): Sent => ({
    type: "response.content_part.added",
    output_index: index,
    content_index,
    part: { type: "output_text", text: "" },
  });
  const texts = (...all: string[]) => ({
    content: all.map((text) => ({ type: "output_text", text, annotations: [] })),
  });

  it.each<[string, Sent[], object[]]>([
    [
      "content indices run on across items",
      [
        added(0, reasoning),
        thought,
        done(0, reasoning),
        added(1, message("", { content: [] })),
        partAdded(1, 1),
        textDelta(1, "He", { content_index: 1 }),
        textDelta(1, "y", { content_index: 1 }),
        { type: "response.output_text.done", output_index: 1, content_index: 1, text: "Hey" },
        done(1, message("Hey")),
      ],
      [reasoning, message("Hey")],
    ],
    [
      "content indices run on across messages",
      [
        added(0, message("", { content: [] })),
        textDelta(0, "One"),
        done(0, message("One")),
        added(1, message("", { id: "msg_2", content: [] })),
        textDelta(1, "Two", { content_index: 1 }),
        done(1, message("Two", { id: "msg_2" })),
      ],
      [message("One"), message("Two", { id: "msg_2" })],
    ],
    [
      "content indices start at one",
      [
        added(0, message("", { content: [] })),
        textDelta(0, "One", { content_index: 1 }),
        textDelta(0, "Two", { content_index: 2 }),
        done(0, message("", texts("One", "Two"))),
      ],
      [message("", texts("One", "Two"))],
    ],
    [
      "a part is announced under another index than its deltas have",
      [
        added(0, message("", { content: [] })),
        partAdded(0, 0),
        textDelta(0, "Hey", { content_index: 1 }),
        done(0, message("Hey")),
      ],
      [message("Hey")],
    ],
    [
      "one of two announced parts stays empty",
      [
        added(0, message("", { content: [] })),
        partAdded(0, 0),
        partAdded(0, 1),
        textDelta(0, "Hey", { content_index: 1 }),
        done(0, message("", texts("", "Hey"))),
      ],
      [message("", texts("", "Hey"))],
    ],
    [
      "content indices run on and no item is said to be done",
      [added(0, message("", { content: [] })), textDelta(0, "Hey", { content_index: 3 })],
      [message("Hey")],
    ],
    [
      "output indices start at one and ids change",
      [
        added(1, message("", { id: "a", content: [] })),
        textDelta(1, "Hey", { item_id: "b" }),
        done(1, message("Hey", { id: "msg_1" })),
      ],
      [message("Hey", { id: "msg_1" })],
    ],
  ])("has each text once if %s", async (_, events, output) => {
    const { response } = await stream([CREATED, ...events, completed({ output })]);
    const whole = toResponse(JSON.stringify({ id: "resp_1", model: "gpt-5", status: "completed", output }), {
      ...factsFor("openai", { model: "gpt-5" }),
      providerRequestId: "req_1",
    });
    expect(response).toEqual(whole);
  });

  it("has each item once if output indices start at one and every mention has another id", async () => {
    const { events } = await stream([
      CREATED,
      added(1, message("", { id: "a", content: [] })),
      textDelta(1, "Hey", { item_id: "b" }),
      done(1, message("Hey", { id: "c" })),
      completed({ output: [message("Hey", { id: "d" })] }),
    ]);
    expect(events).toEqual([START, ...textEvents(0, ["Hey"], textState({ id: "c" })), STOP]);
  });
});

describe("surrogates in deltas", () => {
  it("are joined in texts, reasoning and arguments", async () => {
    const [high, low] = ["\ud83d", "\ude00"];
    const reasoning = { type: "reasoning", id: "rs_1", summary: [{ text: "😀" }] };
    const { events } = await stream([
      CREATED,
      added(0, message("")),
      textDelta(0, `a${high}`),
      textDelta(0, `${low}b`),
      done(0, message("a😀b")),
      added(1, reasoning),
      summaryDelta(1, 0, high),
      summaryDelta(1, 0, low),
      done(1, reasoning),
      added(2, call("")),
      argumentsDelta(2, `"${high}`),
      argumentsDelta(2, `${low}"`),
      done(2, call('"😀"')),
      completed(),
    ]);
    expect(events).toEqual([
      START,
      ...textEvents(0, ["a", "😀b"]),
      { reasoningStart: 1 },
      { delta: 1, text: "😀" },
      { reasoningEnd: 1, reasoning: "😀", redacted: false, state: { item: reasoning } },
      ...callEvents(2, ['"', '😀"']),
      TOOL_CALLS,
    ]);
  });

  it("become U+FFFD if they stay unpaired", async () => {
    const { events } = await stream([
      CREATED,
      added(0, message("")),
      textDelta(0, "a\ud83d"),
      done(0, message("a\ud83d")),
      completed(),
    ]);
    expect(events).toEqual([START, ...textEvents(0, ["a", "\ufffd"]), STOP]);
  });
});

describe("events that have no unified form", () => {
  const unknown = { type: "response.dream.delta", sequence_number: 7, n: { "2": 1 } };
  const kept = [
    { type: "response.queued", response: {} },
    { type: "response.in_progress", response: {} },
    { type: "response.reasoning_summary_part.added", output_index: 0, summary_index: 0, part: {} },
    { type: "response.code_interpreter_call_code.delta", output_index: 0, delta: "1+" },
    { type: "response.code_interpreter_call.interpreting", output_index: 0 },
    { type: "response.file_search_call.searching", output_index: 0 },
    { type: "response.mcp_call_arguments.done", output_index: 0, arguments: "{}" },
    { type: "response.mcp_call.failed", output_index: 0 },
    { type: "response.mcp_list_tools.completed", output_index: 0 },
    { type: "response.shell_call_command.delta", output_index: 0, delta: "ls" },
    { type: "response.shell_call_output_content.done", output_index: 0 },
    { type: "response.apply_patch_call_operation_diff.delta", output_index: 0, delta: "+" },
    { type: "response.image_generation_call.generating", output_index: 0 },
    { type: "response.compaction.compacting", output_index: 0 },
  ];
  const lost = [
    unknown,
    { type: "response.audio.delta", delta: "AAAA" },
    { type: "response.audio.transcript.delta", delta: "a" },
    { type: "response.steer.accepted", id: "s" },
    { type: "response.image_generation_call.partial_image", partial_image_b64: "AAAA" },
  ];
  const forwarded = (sent: readonly { type: string }[]) => sent.map((data) => ({ event: data.type, data }));

  it("are forwarded if their content is nowhere else", async () => {
    const { events } = await stream([
      CREATED,
      ...kept,
      ...lost,
      { type: "keepalive", sequence_number: 9 },
      completed(),
    ]);
    expect(events).toEqual([START, ...forwarded(lost), STOP]);
  });

  it("are all forwarded under include_raw, except keep-alives", async () => {
    const { events, response } = await stream(
      [CREATED, ...kept, ...lost, { type: "keepalive" }, completed()],
      {
        includeRaw: true,
      },
    );
    expect(events).toEqual([START, ...forwarded(kept), ...forwarded(lost), STOP]);
    expect(JSON.parse(response?.rawJson ?? "")).toEqual({
      id: "resp_1",
      model: "gpt-5",
      status: "completed",
      output: [],
    });
  });

  it("may precede the creation of the response", async () => {
    const { events } = await stream([{ type: "keepalive" }, unknown, CREATED, completed()]);
    expect(events).toEqual([START, ...forwarded([unknown]), STOP]);
  });

  it("take the SSE event name if the data has no type", async () => {
    const text = `event: response.output_text.delta\ndata: {"output_index":0,"content_index":0,"delta":"Hey"}\n\n`;
    const odd = 'event: dream\ndata: {"a":1}\n\ndata: {"b":2}\n\n';
    const { events } = await stream([CREATED, text, done(0, message("Hey")), odd, completed()]);
    expect(events).toEqual([
      START,
      ...textEvents(0, ["Hey"]),
      { event: "dream", data: { a: 1 } },
      { event: "", data: { b: 2 } },
      STOP,
    ]);
  });
});
