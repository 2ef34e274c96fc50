/** Servers that omit parts of a stream, or send them late. */

import { describe, expect, it } from "vitest";
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

describe("a stream of a server that leaves out events or fields", () => {
  const HEY_EVENTS = [START, ...textEvents(0, ["Hey"]), STOP];

  it.each<[string, Sent[]]>([
    [
      "the first event",
      [added(0, message("", { content: [] })), textDelta(0, "Hey"), done(0, message("Hey")), completed()],
    ],
    ["every event before the text", [textDelta(0, "Hey"), done(0, message("Hey")), completed()]],
    ["the beginning of the item", [CREATED, textDelta(0, "Hey"), done(0, message("Hey")), completed()]],
    ["the deltas", [CREATED, added(0, message("", { content: [] })), done(0, message("Hey")), completed()]],
    [
      "all but the text's end",
      [
        CREATED,
        { type: "response.output_text.done", output_index: 0, content_index: 0, text: "Hey" },
        done(0, message("Hey")),
        completed(),
      ],
    ],
    ["all but the item's end", [CREATED, done(0, message("Hey")), completed()]],
    ["all but the response", [CREATED, completed({ output: [message("Hey")] })]],
    ["the first event and the deltas", [completed({ output: [message("Hey")] })]],
    [
      "the item's end",
      [
        CREATED,
        added(0, message("", { content: [] })),
        textDelta(0, "Hey"),
        completed({ output: [message("Hey")] }),
      ],
    ],
    [
      "the response's output",
      [
        CREATED,
        added(0, message("")),
        textDelta(0, "Hey"),
        done(0, message("Hey")),
        completed({ output: [] }),
      ],
    ],
    [
      "the index",
      [
        CREATED,
        added(undefined, message("", { content: [] })),
        textDelta(undefined, "Hey"),
        done(undefined, message("Hey")),
        completed(),
      ],
    ],
    [
      "the index and the item's beginning",
      [
        CREATED,
        textDelta(undefined, "Hey", { item_id: "msg_1" }),
        done(undefined, message("Hey")),
        completed(),
      ],
    ],
    [
      "the content's index",
      [
        CREATED,
        added(0, message("")),
        textDelta(0, "Hey", { content_index: undefined }),
        done(0, message("Hey")),
        completed(),
      ],
    ],
  ])("decodes a text without %s", async (_name, sent) => {
    expect((await stream(sent)).events).toEqual(HEY_EVENTS);
  });

  it("keeps text, calls and citations if the item's end and the output are missing", async () => {
    const annotation = { type: "file_path", file_id: "file-1" };
    const { events, response } = await stream([
      CREATED,
      added(0, message("", { content: [] })),
      textDelta(0, "Hey"),
      { type: "response.output_text.annotation.added", output_index: 0, content_index: 0, annotation },
      added(1, call("")),
      argumentsDelta(1, "{}"),
      completed(),
    ]);
    const citation = {
      type: "file_path",
      title: "",
      url: "",
      citedText: "",
      sourceId: "file-1",
      raw: annotation,
    };
    expect(events).toEqual([
      START,
      { textStart: 0 },
      { delta: 0, text: "Hey" },
      { callStart: 1, name: "look", id: "call_1", type: "function" },
      { delta: 1, text: "{}" },
      { textEnd: 0, text: "Hey", citations: [citation], ...textState() },
      {
        callEnd: 1,
        call: "look",
        id: "call_1",
        type: "function",
        input: "{}",
        invalid: false,
        ...callState(),
      },
      TOOL_CALLS,
    ]);
    expect(response?.id).toBe("resp_1");
  });

  it("keeps a refusal if the item's end and the output are missing", async () => {
    const { events } = await stream([
      CREATED,
      { type: "response.refusal.delta", output_index: 0, content_index: 0, delta: "No." },
      { type: "response.refusal.done", output_index: 0, content_index: 0, refusal: "No. Never." },
      completed(),
    ]);
    const end = { state: { item: { type: "message" }, part: { type: "refusal" } } };
    expect(events).toEqual([
      START,
      ...textEvents(0, ["No.", " Never."], end),
      { finish: "CONTENT_FILTER", raw: "refusal" },
    ]);
  });

  it("keeps content that the finished item does not repeat", async () => {
    const { events } = await stream([
      CREATED,
      added(0, message("", { content: [] })),
      textDelta(0, "a"),
      textDelta(0, "b", { content_index: 1 }),
      done(0, message("a")),
      completed(),
    ]);
    expect(events).toEqual([
      START,
      { textStart: 0 },
      { delta: 0, text: "a" },
      { textStart: 1 },
      { delta: 1, text: "b" },
      { textEnd: 0, text: "a", ...textState() },
      { textEnd: 1, text: "b", ...textState() },
      STOP,
    ]);
  });

  it("distinguishes items by their ids if indexes are missing", async () => {
    const { events } = await stream([
      CREATED,
      added(undefined, { ...call(""), id: "fc_1" }),
      added(undefined, { ...call(""), id: "fc_2", call_id: "call_2" }),
      argumentsDelta(undefined, '{"a":1}', { item_id: "fc_1" }),
      argumentsDelta(undefined, '{"b":2}', { item_id: "fc_2" }),
      done(undefined, call('{"a":1}')),
      done(undefined, call('{"b":2}', { id: "fc_2", call_id: "call_2" })),
      completed(),
    ]);
    expect(events).toEqual([
      START,
      { callStart: 0, name: "look", id: "call_1", type: "function" },
      { callStart: 1, name: "look", id: "call_2", type: "function" },
      { delta: 0, text: '{"a":1}' },
      { delta: 1, text: '{"b":2}' },
      {
        callEnd: 0,
        call: "look",
        id: "call_1",
        type: "function",
        input: '{"a":1}',
        invalid: false,
        ...callState(),
      },
      {
        callEnd: 1,
        call: "look",
        id: "call_2",
        type: "function",
        input: '{"b":2}',
        invalid: false,
        ...callState({ id: "fc_2" }),
      },
      TOOL_CALLS,
    ]);
  });

  it("assigns events to the latest item if indexes and ids are missing", async () => {
    const nameless = (item: object) => ({ ...item, id: undefined });
    const { events } = await stream([
      CREATED,
      textDelta(undefined, "Hey"),
      done(undefined, nameless(message("Hey"))),
      done(undefined, nameless(call('{"a":1}'))),
      added(undefined, nameless(message("", { content: [] }))),
      textDelta(undefined, "Bye"),
      done(undefined, nameless(message("Bye"))),
      textDelta(undefined, "More"),
      done(undefined, nameless(message("More"))),
      completed({ output: [message("Hey"), call('{"a":1}'), message("Bye"), message("More")].map(nameless) }),
    ]);
    const state = textState({ id: undefined });
    expect(events).toEqual([
      START,
      ...textEvents(0, ["Hey"], state),
      ...callEvents(1, ['{"a":1}'], {}, callState({ id: undefined })),
      ...textEvents(2, ["Bye"], state),
      ...textEvents(3, ["More"], state),
      TOOL_CALLS,
    ]);
  });

  it("distinguishes interleaved items by their types if indexes and ids are missing", async () => {
    const reasoning = { type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] };
    const { events } = await stream([
      CREATED,
      added(undefined, reasoning),
      added(undefined, message("", { id: undefined, content: [] })),
      summaryDelta(undefined, 0, "Hm"),
      textDelta(undefined, "Hey"),
      summaryDelta(undefined, 0, "."),
      { type: "response.reasoning_summary_text.done", summary_index: 0, text: "Hm." },
      done(undefined, reasoning),
      done(undefined, message("Hey", { id: undefined })),
      completed(),
    ]);
    expect(events).toEqual([
      START,
      { reasoningStart: 0 },
      { delta: 0, text: "Hm" },
      { textStart: 1 },
      { delta: 1, text: "Hey" },
      { delta: 0, text: "." },
      { reasoningEnd: 0, reasoning: "Hm.", redacted: false, state: { item: reasoning } },
      { textEnd: 1, text: "Hey", ...textState({ id: undefined }) },
      STOP,
    ]);
  });

  it("opens reasoning that was not announced", async () => {
    const item = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] };
    const { events } = await stream([CREATED, summaryDelta(0, 0, "Hm."), done(0, item), completed()]);
    expect(events).toEqual([
      START,
      { reasoningStart: 0 },
      { delta: 0, text: "Hm." },
      { reasoningEnd: 0, reasoning: "Hm.", redacted: false, state: { item } },
      STOP,
    ]);
  });

  it("reads items without ids of which only the last event was sent", async () => {
    const output = [message("Hey", { id: undefined }), call("{}", { id: undefined })];
    const { events } = await stream([CREATED, done(0, output[0] ?? {}), completed({ output })]);
    expect(events).toEqual([
      START,
      ...textEvents(0, ["Hey"], textState({ id: undefined })),
      ...callEvents(1, ["{}"], {}, callState({ id: undefined })),
      TOOL_CALLS,
    ]);
  });

  it("has an empty text for a message without content", async () => {
    const whole = message("", { content: [] });
    const { events } = await stream([CREATED, added(0, whole), done(0, whole), completed()]);
    expect(events).toEqual([
      START,
      { textStart: 0 },
      { textEnd: 0, text: "", state: { item: textState().state.item, empty: true } },
      STOP,
    ]);
  });

  it("has an empty object for a call without arguments", async () => {
    const { events } = await stream([CREATED, added(0, call("")), done(0, call("")), completed()]);
    expect(events).toEqual([START, ...callEvents(0, ["{}"]), TOOL_CALLS]);
  });
});

describe("a stream of a server that sends content late", () => {
  const textEnd = { type: "response.output_text.done", output_index: 0, content_index: 0, text: "Hello" };
  const partEnd = {
    type: "response.content_part.done",
    output_index: 0,
    content_index: 0,
    part: { type: "output_text", text: "Hello" },
  };

  it.each<[string, Sent[]]>([
    ["with the text's end", [textEnd, done(0, message("Hello"))]],
    ["with the part's end", [partEnd, done(0, message("Hello"))]],
    ["with the item's end", [done(0, message("Hello"))]],
    ["with the text's end alone", [textEnd, done(0, message("He"))]],
  ])("completes a text %s", async (_name, ends) => {
    const { events } = await stream([
      CREATED,
      added(0, message("", { content: [] })),
      textDelta(0, "He"),
      ...ends,
      completed(),
    ]);
    expect(events).toEqual([START, ...textEvents(0, ["He", "llo"]), STOP]);
  });

  it("keeps the text that was sent if the final text differs", async () => {
    const { events } = await stream([
      CREATED,
      added(0, message("")),
      textDelta(0, "Hallo"),
      textEnd,
      done(0, message("Hello, world")),
      completed({ output: [message("Hello, world")] }),
    ]);
    expect(events).toEqual([START, ...textEvents(0, ["Hallo"]), STOP]);
  });

  it.each<[string, Sent[]]>([
    [
      "with their end",
      [
        { type: "response.function_call_arguments.done", output_index: 0, arguments: '{"a":1}' },
        done(0, call("")),
      ],
    ],
    ["with the item's end", [done(0, call('{"a":1}'))]],
  ])("completes a call's arguments %s", async (_name, ends) => {
    const { events } = await stream([
      CREATED,
      added(0, call("")),
      argumentsDelta(0, '{"a"'),
      ...ends,
      completed(),
    ]);
    expect(events).toEqual([START, ...callEvents(0, ['{"a"', ":1}"]), TOOL_CALLS]);
  });

  it("completes reasoning part by part", async () => {
    const summary = ["First.", "Then."].map((text) => ({ type: "summary_text", text }));
    const { events } = await stream([
      CREATED,
      added(0, { type: "reasoning", id: "rs_1" }),
      summaryDelta(0, 0, "Fir"),
      { type: "response.reasoning_summary_text.done", output_index: 0, summary_index: 0, text: "First." },
      { type: "response.reasoning_summary_text.done", output_index: 0, summary_index: 1, text: "Then." },
      done(0, { type: "reasoning", id: "rs_1", summary }),
      completed(),
    ]);
    expect(events).toEqual([
      START,
      { reasoningStart: 0 },
      { delta: 0, text: "Fir" },
      { delta: 0, text: "st." },
      { delta: 0, text: "\n\n" },
      { delta: 0, text: "Then." },
      {
        reasoningEnd: 0,
        reasoning: "First.\n\nThen.",
        redacted: false,
        state: { item: { type: "reasoning", id: "rs_1", summary } },
      },
      STOP,
    ]);
  });

  it("keeps the reasoning that was sent if the final one differs, and the item in its state", async () => {
    const item = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Well." }] };
    const { events } = await stream([
      CREATED,
      summaryDelta(0, 0, "Hm."),
      { type: "response.reasoning_summary_text.done", output_index: 0, summary_index: 0, text: "Well." },
      done(0, item),
      completed(),
    ]);
    expect(events).toEqual([
      START,
      { reasoningStart: 0 },
      { delta: 0, text: "Hm." },
      { reasoningEnd: 0, reasoning: "Hm.", redacted: false, state: { item } },
      STOP,
    ]);
  });

  it("holds the arguments of a call until its name is known, and keeps its index", async () => {
    const { events } = await stream([
      CREATED,
      added(0, call("", { name: "" })),
      argumentsDelta(0, '{"a"'),
      added(1, message("")),
      textDelta(1, "Hey"),
      argumentsDelta(0, ":1"),
      done(0, call('{"a":1}')),
      done(1, message("Hey")),
      completed(),
    ]);
    expect(events).toEqual([
      START,
      { textStart: 1 },
      { delta: 1, text: "Hey" },
      { callStart: 0, name: "look", id: "call_1", type: "function" },
      { delta: 0, text: '{"a":1}' },
      {
        callEnd: 0,
        call: "look",
        id: "call_1",
        type: "function",
        input: '{"a":1}',
        invalid: false,
        ...callState(),
      },
      { textEnd: 1, text: "Hey", ...textState() },
      TOOL_CALLS,
    ]);
  });

  it.each<[string, Sent[]]>([
    [
      "when it is done",
      [
        { type: "response.function_call_arguments.done", output_index: 0, arguments: '{"a":1}' },
        done(0, call("")),
      ],
    ],
    ["with the response", [completed({ output: [call('{"a":1}')] })]],
  ])("starts a call whose arguments come %s", async (_name, ends) => {
    const { events } = await stream([
      CREATED,
      argumentsDelta(0, '{"a"'),
      argumentsDelta(0, ":1}"),
      ...ends,
      completed(),
    ]);
    expect(events).toEqual([START, ...callEvents(0, ['{"a":1}']), TOOL_CALLS]);
  });

  it("ignores a repeated text whose item only the id names", async () => {
    const late = { type: "response.output_text.done", item_id: "msg_1", content_index: 0, text: "Hey" };
    const { events } = await stream([
      CREATED,
      done(undefined, message("Hey")),
      late,
      done(undefined, message("Hey")),
      completed(),
    ]);
    expect(events).toEqual([START, ...textEvents(0, ["Hey"]), STOP]);
  });

  it("ignores text and reasoning that an item holds already", async () => {
    const item = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] };
    const { events } = await stream([
      CREATED,
      done(0, message("Hello")),
      textEnd,
      partEnd,
      done(0, message("Hello")),
      done(1, item),
      { type: "response.reasoning_summary_text.done", output_index: 1, summary_index: 0, text: "Hm." },
      done(2, call("{}")),
      argumentsDelta(2, "{}"),
      { type: "response.function_call_arguments.done", output_index: 2, arguments: "{}" },
      completed(),
    ]);
    expect(events).toEqual([
      START,
      ...textEvents(0, ["Hello"]),
      { reasoningStart: 1 },
      { delta: 1, text: "Hm." },
      { reasoningEnd: 1, reasoning: "Hm.", redacted: false, state: { item } },
      ...callEvents(2, ["{}"]),
      TOOL_CALLS,
    ]);
  });
});
