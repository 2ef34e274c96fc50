/** Servers that leave things out of a stream, or say them late. */

import { describe, expect, it } from "vitest";
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
import { callState, callTold, START, STOP, TOOL_CALLS, textState, textTold } from "./told.ts";

describe("servers that leave things out", () => {
  const SAID = [START, ...textTold(0, ["Hey"]), STOP];

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
    ["even the first event", [completed({ output: [message("Hey")] })]],
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
  ])("%s", async (_name, sent) => {
    expect((await stream(sent)).told).toEqual(SAID);
  });

  it("even the item's end and the output: what came stands, with the sources that were named", async () => {
    const annotation = { type: "file_path", file_id: "file-1" };
    const { told, response } = await stream([
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
    expect(told).toEqual([
      START,
      { textStart: 0 },
      { delta: 0, says: "Hey" },
      { callStart: 1, name: "look", id: "call_1", type: "function" },
      { delta: 1, says: "{}" },
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

  it("even the item's end and the output, of a refusal", async () => {
    const { told } = await stream([
      CREATED,
      { type: "response.refusal.delta", output_index: 0, content_index: 0, delta: "No." },
      { type: "response.refusal.done", output_index: 0, content_index: 0, refusal: "No. Never." },
      completed(),
    ]);
    const end = { state: { item: { type: "message" }, part: { type: "refusal" } } };
    expect(told).toEqual([
      START,
      ...textTold(0, ["No.", " Never."], end),
      { finish: "CONTENT_FILTER", raw: "refusal" },
    ]);
  });

  it("some of an item's content at its end", async () => {
    const { told } = await stream([
      CREATED,
      added(0, message("", { content: [] })),
      textDelta(0, "a"),
      textDelta(0, "b", { content_index: 1 }),
      done(0, message("a")),
      completed(),
    ]);
    expect(told).toEqual([
      START,
      { textStart: 0 },
      { delta: 0, says: "a" },
      { textStart: 1 },
      { delta: 1, says: "b" },
      { textEnd: 0, text: "a", ...textState() },
      { textEnd: 1, text: "b", ...textState() },
      STOP,
    ]);
  });

  it("the indexes of several items: their ids tell them apart", async () => {
    const { told } = await stream([
      CREATED,
      added(undefined, { ...call(""), id: "fc_1" }),
      added(undefined, { ...call(""), id: "fc_2", call_id: "call_2" }),
      argumentsDelta(undefined, '{"a":1}', { item_id: "fc_1" }),
      argumentsDelta(undefined, '{"b":2}', { item_id: "fc_2" }),
      done(undefined, call('{"a":1}')),
      done(undefined, call('{"b":2}', { id: "fc_2", call_id: "call_2" })),
      completed(),
    ]);
    expect(told).toEqual([
      START,
      { callStart: 0, name: "look", id: "call_1", type: "function" },
      { callStart: 1, name: "look", id: "call_2", type: "function" },
      { delta: 0, says: '{"a":1}' },
      { delta: 1, says: '{"b":2}' },
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

  it("the indexes and ids: items follow one another", async () => {
    const nameless = (item: object) => ({ ...item, id: undefined });
    const { told } = await stream([
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
    expect(told).toEqual([
      START,
      ...textTold(0, ["Hey"], state),
      ...callTold(1, ['{"a":1}'], {}, callState({ id: undefined })),
      ...textTold(2, ["Bye"], state),
      ...textTold(3, ["More"], state),
      TOOL_CALLS,
    ]);
  });

  it("the indexes and ids of items that interleave: their types tell them apart", async () => {
    const reasoning = { type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] };
    const { told } = await stream([
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
    expect(told).toEqual([
      START,
      { thinkingStart: 0 },
      { delta: 0, says: "Hm" },
      { textStart: 1 },
      { delta: 1, says: "Hey" },
      { delta: 0, says: "." },
      { thinkingEnd: 0, thinking: "Hm.", redacted: false, state: { item: reasoning } },
      { textEnd: 1, text: "Hey", ...textState({ id: undefined }) },
      STOP,
    ]);
  });

  it("the beginning of reasoning", async () => {
    const item = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] };
    const { told } = await stream([CREATED, summaryDelta(0, 0, "Hm."), done(0, item), completed()]);
    expect(told).toEqual([
      START,
      { thinkingStart: 0 },
      { delta: 0, says: "Hm." },
      { thinkingEnd: 0, thinking: "Hm.", redacted: false, state: { item } },
      STOP,
    ]);
  });

  it("the ids, and all but the last event of some items", async () => {
    const output = [message("Hey", { id: undefined }), call("{}", { id: undefined })];
    const { told } = await stream([CREATED, done(0, output[0] ?? {}), completed({ output })]);
    expect(told).toEqual([
      START,
      ...textTold(0, ["Hey"], textState({ id: undefined })),
      ...callTold(1, ["{}"], {}, callState({ id: undefined })),
      TOOL_CALLS,
    ]);
  });

  it("all of a message's content", async () => {
    const whole = message("", { content: [] });
    const { told } = await stream([CREATED, added(0, whole), done(0, whole), completed()]);
    expect(told).toEqual([
      START,
      { textStart: 0 },
      { textEnd: 0, text: "", state: { item: textState().state.item, empty: true } },
      STOP,
    ]);
  });

  it("the arguments of a call that has none", async () => {
    const { told } = await stream([CREATED, added(0, call("")), done(0, call("")), completed()]);
    expect(told).toEqual([START, ...callTold(0, ["{}"]), TOOL_CALLS]);
  });
});

describe("servers that say things late", () => {
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
  ])("the rest of a text: %s", async (_name, ends) => {
    const { told } = await stream([
      CREATED,
      added(0, message("", { content: [] })),
      textDelta(0, "He"),
      ...ends,
      completed(),
    ]);
    expect(told).toEqual([START, ...textTold(0, ["He", "llo"]), STOP]);
  });

  it("another text than was sent: what was sent stands", async () => {
    const { told } = await stream([
      CREATED,
      added(0, message("")),
      textDelta(0, "Hallo"),
      textEnd,
      done(0, message("Hello, world")),
      completed({ output: [message("Hello, world")] }),
    ]);
    expect(told).toEqual([START, ...textTold(0, ["Hallo"]), STOP]);
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
  ])("the rest of a call's arguments: %s", async (_name, ends) => {
    const { told } = await stream([
      CREATED,
      added(0, call("")),
      argumentsDelta(0, '{"a"'),
      ...ends,
      completed(),
    ]);
    expect(told).toEqual([START, ...callTold(0, ['{"a"', ":1}"]), TOOL_CALLS]);
  });

  it("the rest of reasoning, part by part", async () => {
    const summary = ["First.", "Then."].map((text) => ({ type: "summary_text", text }));
    const { told } = await stream([
      CREATED,
      added(0, { type: "reasoning", id: "rs_1" }),
      summaryDelta(0, 0, "Fir"),
      { type: "response.reasoning_summary_text.done", output_index: 0, summary_index: 0, text: "First." },
      { type: "response.reasoning_summary_text.done", output_index: 0, summary_index: 1, text: "Then." },
      done(0, { type: "reasoning", id: "rs_1", summary }),
      completed(),
    ]);
    expect(told).toEqual([
      START,
      { thinkingStart: 0 },
      { delta: 0, says: "Fir" },
      { delta: 0, says: "st." },
      { delta: 0, says: "\n\n" },
      { delta: 0, says: "Then." },
      {
        thinkingEnd: 0,
        thinking: "First.\n\nThen.",
        redacted: false,
        state: { item: { type: "reasoning", id: "rs_1", summary } },
      },
      STOP,
    ]);
  });

  it("other reasoning than was sent: what was sent stands, and the item keeps the rest", async () => {
    const item = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Well." }] };
    const { told } = await stream([
      CREATED,
      summaryDelta(0, 0, "Hm."),
      { type: "response.reasoning_summary_text.done", output_index: 0, summary_index: 0, text: "Well." },
      done(0, item),
      completed(),
    ]);
    expect(told).toEqual([
      START,
      { thinkingStart: 0 },
      { delta: 0, says: "Hm." },
      { thinkingEnd: 0, thinking: "Hm.", redacted: false, state: { item } },
      STOP,
    ]);
  });

  it("the name of a call: its arguments wait, its place is kept", async () => {
    const { told } = await stream([
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
    expect(told).toEqual([
      START,
      { textStart: 1 },
      { delta: 1, says: "Hey" },
      { callStart: 0, name: "look", id: "call_1", type: "function" },
      { delta: 0, says: '{"a":1}' },
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
  ])("all of a call but its arguments: %s", async (_name, ends) => {
    const { told } = await stream([
      CREATED,
      argumentsDelta(0, '{"a"'),
      argumentsDelta(0, ":1}"),
      ...ends,
      completed(),
    ]);
    expect(told).toEqual([START, ...callTold(0, ['{"a":1}']), TOOL_CALLS]);
  });

  it("what an item has said already, and the id alone tells which", async () => {
    const late = { type: "response.output_text.done", item_id: "msg_1", content_index: 0, text: "Hey" };
    const { told } = await stream([
      CREATED,
      done(undefined, message("Hey")),
      late,
      done(undefined, message("Hey")),
      completed(),
    ]);
    expect(told).toEqual([START, ...textTold(0, ["Hey"]), STOP]);
  });

  it("what an item has said already", async () => {
    const item = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] };
    const { told } = await stream([
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
    expect(told).toEqual([
      START,
      ...textTold(0, ["Hello"]),
      { thinkingStart: 1 },
      { delta: 1, says: "Hm." },
      { thinkingEnd: 1, thinking: "Hm.", redacted: false, state: { item } },
      ...callTold(2, ["{}"]),
      TOOL_CALLS,
    ]);
  });
});
