import { describe, expect, it } from "vitest";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { StreamError } from "../../../src/spec/errors.ts";
import { textOf } from "../../../src/spec/message.ts";
import { PNG_BASE64 } from "./conversation.ts";
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
import type { Told } from "./told.ts";

const START: Told = { start: "gpt-5" };
const STOP: Told = { finish: "STOP", raw: "completed" };
const TOOL_CALLS: Told = { finish: "TOOL_CALLS", raw: "completed" };

/** State of a text of `message()`. */
const textState = (item: object = {}) => ({
  state: {
    item: { type: "message", id: "msg_1", role: "assistant", status: "completed", ...item },
    part: { type: "output_text" },
  },
});

/** State of `call()`. */
const callState = (item: object = {}) => ({
  state: { item: { type: "function_call", id: "fc_1", ...item } },
});

/** The events of a text that comes in pieces. */
function textTold(place: number, pieces: readonly string[], end: object = textState()): Told[] {
  return [
    { textStart: place },
    ...pieces.map((says) => ({ delta: place, says })),
    { textEnd: place, text: pieces.join(""), ...end },
  ];
}

/** The events of a call whose arguments come in pieces. */
function callTold(
  place: number,
  pieces: readonly string[],
  head: object = {},
  end: object = callState(),
): Told[] {
  const named = { id: "call_1", type: "function", ...head };
  return [
    { callStart: place, name: "look", ...named },
    ...pieces.map((says) => ({ delta: place, says })),
    { callEnd: place, call: "look", input: pieces.join(""), invalid: false, ...named, ...end },
  ];
}

describe("a stream by the book", () => {
  it("of text: one block, with its citations at its end", async () => {
    const annotation = {
      type: "url_citation",
      url: "https://x.test",
      title: "X",
      start_index: 0,
      end_index: 2,
    };
    const whole = message("Hello", {
      content: [{ type: "output_text", text: "Hello", annotations: [annotation] }],
    });
    const { told } = await stream([
      CREATED,
      { type: "response.in_progress", response: {} },
      added(0, { ...whole, status: "in_progress", content: [] }),
      {
        type: "response.content_part.added",
        output_index: 0,
        content_index: 0,
        part: { type: "output_text", text: "", annotations: [] },
      },
      textDelta(0, "Hel", { obfuscation: "xxxxxx", logprobs: [] }),
      textDelta(0, "lo", { obfuscation: "xxx" }),
      {
        type: "response.output_text.annotation.added",
        output_index: 0,
        content_index: 0,
        annotation_index: 0,
        annotation,
      },
      { type: "response.output_text.done", output_index: 0, content_index: 0, text: "Hello" },
      {
        type: "response.content_part.done",
        output_index: 0,
        content_index: 0,
        part: { type: "output_text", text: "Hello", annotations: [annotation] },
      },
      done(0, whole),
      completed({ output: [whole], usage: { input_tokens: 4, output_tokens: 2, total_tokens: 6 } }),
    ]);
    const citation = {
      type: "url_citation",
      url: "https://x.test",
      title: "X",
      citedText: "",
      sourceId: "",
      startIndex: 0,
      endIndex: 2,
    };
    expect(told).toEqual([
      START,
      ...textTold(0, ["Hel", "lo"], { citations: [{ ...citation, raw: annotation }], ...textState() }),
      { ...STOP, tokens: 6 },
    ]);
  });

  it("of reasoning and a call: the parts of a summary are one block, and what is encrypted is that of the end", async () => {
    const reasoning = {
      type: "reasoning",
      id: "rs_1",
      summary: [
        { type: "summary_text", text: "First." },
        { type: "summary_text", text: "Then." },
      ],
      encrypted_content: "gAAA-long",
    };
    const { told } = await stream([
      CREATED,
      added(0, { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" }),
      {
        type: "response.reasoning_summary_part.added",
        output_index: 0,
        summary_index: 0,
        part: { type: "summary_text", text: "" },
      },
      summaryDelta(0, 0, "Fir"),
      summaryDelta(0, 0, "st."),
      { type: "response.reasoning_summary_text.done", output_index: 0, summary_index: 0, text: "First." },
      {
        type: "response.reasoning_summary_part.done",
        output_index: 0,
        summary_index: 0,
        part: { type: "summary_text", text: "First." },
      },
      summaryDelta(0, 1, "Then."),
      { type: "response.reasoning_summary_text.done", output_index: 0, summary_index: 1, text: "Then." },
      done(0, reasoning),
      added(1, call("")),
      argumentsDelta(1, '{"a"'),
      argumentsDelta(1, ":1}"),
      { type: "response.function_call_arguments.done", output_index: 1, arguments: '{"a":1}' },
      done(1, call('{"a":1}')),
      completed({ output: [{ ...reasoning, encrypted_content: "gBBB" }, call('{"a":1}')] }),
    ]);
    expect(told).toEqual([
      START,
      { thinkingStart: 0 },
      { delta: 0, says: "Fir" },
      { delta: 0, says: "st." },
      { delta: 0, says: "\n\n" },
      { delta: 0, says: "Then." },
      { thinkingEnd: 0, thinking: "First.\n\nThen.", redacted: false, state: { item: reasoning } },
      ...callTold(1, ['{"a"', ":1}"]),
      TOOL_CALLS,
    ]);
  });

  it("of reasoning that is hidden: a block without a word, so that it can go back", async () => {
    const item = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" };
    const { told } = await stream([CREATED, added(0, item), done(0, item), completed()]);
    expect(told).toEqual([
      START,
      { thinkingStart: 0 },
      { thinkingEnd: 0, thinking: "", redacted: true, state: { item } },
      STOP,
    ]);
  });

  it("of reasoning in its own words beside its summary", async () => {
    const item = {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "Short." }],
      content: [{ type: "reasoning_text", text: "Long." }],
    };
    const { told } = await stream([
      CREATED,
      added(0, item),
      summaryDelta(0, 0, "Short."),
      { type: "response.reasoning_text.delta", output_index: 0, content_index: 0, delta: "Long." },
      { type: "response.reasoning_text.done", output_index: 0, content_index: 0, text: "Long." },
      done(0, item),
      completed(),
    ]);
    expect(told).toEqual([
      START,
      { thinkingStart: 0 },
      { delta: 0, says: "Short." },
      { delta: 0, says: "\n\n" },
      { delta: 0, says: "Long." },
      { thinkingEnd: 0, thinking: "Short.\n\nLong.", redacted: false, state: { item } },
      STOP,
    ]);
  });

  it("of a refusal", async () => {
    const whole = message("", { content: [{ type: "refusal", refusal: "I won't." }] });
    const { told } = await stream([
      CREATED,
      added(0, { ...whole, content: [] }),
      {
        type: "response.content_part.added",
        output_index: 0,
        content_index: 0,
        part: { type: "refusal", refusal: "" },
      },
      { type: "response.refusal.delta", output_index: 0, content_index: 0, delta: "I " },
      { type: "response.refusal.delta", output_index: 0, content_index: 0, delta: "won't." },
      { type: "response.refusal.done", output_index: 0, content_index: 0, refusal: "I won't." },
      done(0, whole),
      completed(),
    ]);
    const { item } = textState().state;
    expect(told).toEqual([
      START,
      ...textTold(0, ["I ", "won't."], { state: { item, part: { type: "refusal" } } }),
      { finish: "CONTENT_FILTER", raw: "refusal" },
    ]);
  });

  it("of a custom tool's call", async () => {
    const whole = {
      type: "custom_tool_call",
      id: "ctc_1",
      call_id: "call_1",
      name: "look",
      input: "SELECT {",
    };
    const { told } = await stream([
      CREATED,
      added(0, { ...whole, input: "" }),
      { type: "response.custom_tool_call_input.delta", output_index: 0, delta: "SELECT" },
      { type: "response.custom_tool_call_input.delta", output_index: 0, delta: " {" },
      { type: "response.custom_tool_call_input.done", output_index: 0, input: "SELECT {" },
      done(0, whole),
      completed(),
    ]);
    const state = { state: { item: { type: "custom_tool_call", id: "ctc_1" } } };
    expect(told).toEqual([START, ...callTold(0, ["SELECT", " {"], { type: "custom" }, state), TOOL_CALLS]);
  });

  it("of a hosted tool, a picture and unknown content: parts that arrive whole, in their places", async () => {
    const search = { type: "web_search_call", id: "ws_1", status: "completed", action: { query: "x" } };
    const picture = { type: "image_generation_call", id: "ig_1", status: "completed", result: PNG_BASE64 };
    const odd = { type: "output_hologram", layers: [1] };
    const whole = message("", { content: [{ type: "output_text", text: "a", annotations: [] }, odd] });
    const { told } = await stream([
      CREATED,
      added(0, { ...search, status: "in_progress" }),
      { type: "response.web_search_call.in_progress", output_index: 0, item_id: "ws_1" },
      { type: "response.web_search_call.searching", output_index: 0, item_id: "ws_1" },
      { type: "response.web_search_call.completed", output_index: 0, item_id: "ws_1" },
      done(0, search),
      added(1, { ...picture, result: null }),
      {
        type: "response.image_generation_call.partial_image",
        output_index: 1,
        partial_image_index: 0,
        partial_image_b64: "AAAA",
      },
      done(1, picture),
      added(2, { ...whole, content: [] }),
      textDelta(2, "a"),
      { type: "response.content_part.added", output_index: 2, content_index: 1, part: odd },
      { type: "response.content_part.done", output_index: 2, content_index: 1, part: odd },
      done(2, whole),
      completed(),
    ]);
    const { item } = textState().state;
    expect(told).toEqual([
      START,
      { added: 0, native: search, kind: "web_search_call", provider: "openai" },
      {
        event: "response.image_generation_call.partial_image",
        data: {
          type: "response.image_generation_call.partial_image",
          output_index: 1,
          partial_image_index: 0,
          partial_image_b64: "AAAA",
        },
      },
      {
        added: 1,
        image: PNG_BASE64,
        mediaType: "image/png",
        state: { item: { type: "image_generation_call", id: "ig_1", status: "completed" } },
      },
      ...textTold(2, ["a"]),
      { added: 3, native: odd, kind: "output_hologram", provider: "openai", state: { item } },
      STOP,
    ]);
  });

  it("of an answer that a limit cut", async () => {
    const { told, response } = await stream([
      CREATED,
      added(0, call("")),
      argumentsDelta(0, '{"a":'),
      done(0, call('{"a":', { status: "incomplete" })),
      {
        type: "response.incomplete",
        response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
      },
    ]);
    expect(told).toEqual([
      START,
      ...callTold(0, ['{"a":'], {}, { invalid: true, ...callState({ status: "incomplete" }) }),
      { finish: "LENGTH", raw: "max_output_tokens" },
    ]);
    // The last event names neither: the first does.
    expect(response?.model).toBe("gpt-5");
  });

  it("tells of input that the provider changed", async () => {
    const { response } = await stream([
      CREATED,
      completed({ input_transformations: [{ reason: "turn_boundary" }] }),
    ]);
    expect(response?.warnings.map(({ code }) => code)).toEqual(["input_transformed"]);
  });
});

describe("items that interleave", () => {
  it("are blocks that interleave, each at its place", async () => {
    const second = { id: "fc_2", call_id: "call_2" };
    const { told } = await stream([
      CREATED,
      added(0, message("", { content: [] })),
      added(1, call("")),
      added(2, call("", second)),
      argumentsDelta(2, '{"b":'),
      textDelta(0, "He"),
      argumentsDelta(1, "{}"),
      argumentsDelta(2, "2}"),
      textDelta(0, "y"),
      done(2, call('{"b":2}', second)),
      done(1, call("{}")),
      done(0, message("Hey")),
      completed(),
    ]);
    expect(told).toEqual([
      START,
      { callStart: 0, name: "look", id: "call_1", type: "function" },
      { callStart: 1, name: "look", id: "call_2", type: "function" },
      { delta: 1, says: '{"b":' },
      { textStart: 2 },
      { delta: 2, says: "He" },
      { delta: 0, says: "{}" },
      { delta: 1, says: "2}" },
      { delta: 2, says: "y" },
      {
        callEnd: 1,
        call: "look",
        id: "call_2",
        type: "function",
        input: '{"b":2}',
        invalid: false,
        ...callState({ id: "fc_2" }),
      },
      {
        callEnd: 0,
        call: "look",
        id: "call_1",
        type: "function",
        input: "{}",
        invalid: false,
        ...callState(),
      },
      { textEnd: 2, text: "Hey", ...textState() },
      TOOL_CALLS,
    ]);
  });

  it("several texts of one message are several blocks", async () => {
    const content = ["a", "b"].map((text) => ({ type: "output_text", text, annotations: [] }));
    const { told } = await stream([
      CREATED,
      added(0, message("", { content: [] })),
      textDelta(0, "a"),
      textDelta(0, "b", { content_index: 1 }),
      done(0, message("", { content })),
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
});

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
      { delta: 0, says: '{"a":1' },
      { delta: 0, says: "}" },
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

describe("servers that repeat themselves", () => {
  it("events: the first counts", async () => {
    const { told } = await stream([
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
    expect(told).toEqual([START, ...textTold(0, ["Hey"]), STOP]);
  });

  it("indexes: another item is another item", async () => {
    const reasoning = { type: "reasoning", id: "rs_1", summary: [] };
    const { told } = await stream([
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
    expect(told).toEqual([
      START,
      { thinkingStart: 0 },
      { thinkingEnd: 0, thinking: "", redacted: false, state: { item: reasoning } },
      ...callTold(1, ["{}"]),
      ...textTold(2, ["Hey"]),
      TOOL_CALLS,
    ]);
  });

  it("ids of calls, or give none: each call has its own", async () => {
    const ids = ["call_1", "call_1", "", ""];
    const sent = ids.flatMap((call_id, index) => {
      const item = call("{}", { id: `fc_${index}`, call_id });
      return [added(index, { ...item, arguments: "" }), done(index, item)];
    });
    const { told } = await stream([CREATED, ...sent, completed()]);
    expect(told).toEqual([
      START,
      ...["call_1", "call_1_2", "call_run_test", "call_run_test_2"].flatMap((id, index) =>
        callTold(index, ["{}"], { id }, callState({ id: `fc_${index}` })),
      ),
      TOOL_CALLS,
    ]);
  });

  it("ids of calls of earlier turns", async () => {
    const value = { id: "call_1", name: "look", argumentsJson: "{}" };
    const messages = [{ content: [{ part: { case: "toolCall", value } as const }] }];
    const { told } = await stream([CREATED, done(0, call("{}")), completed()], { messages });
    expect(told[1]).toEqual({ callStart: 0, name: "look", id: "call_1_2", type: "function" });
  });

  it("items under other ids in every event: the index tells", async () => {
    const { told } = await stream([
      CREATED,
      added(0, message("", { id: "a" })),
      textDelta(0, "Hey", { item_id: "b" }),
      done(0, message("Hey", { id: "c" })),
      completed({ output: [message("Hey", { id: "d" })] }),
    ]);
    expect(told).toEqual([START, ...textTold(0, ["Hey"], textState({ id: "c" })), STOP]);
  });
});

describe("halves of characters", () => {
  it("wait for each other, in texts, reasoning and arguments", async () => {
    const [high, low] = ["\ud83d", "\ude00"];
    const reasoning = { type: "reasoning", id: "rs_1", summary: [{ text: "😀" }] };
    const { told } = await stream([
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
    expect(told).toEqual([
      START,
      ...textTold(0, ["a", "😀b"]),
      { thinkingStart: 1 },
      { delta: 1, says: "😀" },
      { thinkingEnd: 1, thinking: "😀", redacted: false, state: { item: reasoning } },
      ...callTold(2, ['"', '😀"']),
      TOOL_CALLS,
    ]);
  });

  it("that stay alone become the sign for what cannot be read", async () => {
    const { told } = await stream([
      CREATED,
      added(0, message("")),
      textDelta(0, "a\ud83d"),
      done(0, message("a\ud83d")),
      completed(),
    ]);
    expect(told).toEqual([START, ...textTold(0, ["a", "\ufffd"]), STOP]);
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
  const events = (sent: readonly { type: string }[]) => sent.map((data) => ({ event: data.type, data }));

  it("are passed on where their content is nowhere else", async () => {
    const { told } = await stream([
      CREATED,
      ...kept,
      ...lost,
      { type: "keepalive", sequence_number: 9 },
      completed(),
    ]);
    expect(told).toEqual([START, ...events(lost), STOP]);
  });

  it("are passed on all where the caller asks for it, but for signs of life", async () => {
    const { told, response } = await stream([CREATED, ...kept, ...lost, { type: "keepalive" }, completed()], {
      includeRaw: true,
    });
    expect(told).toEqual([START, ...events(kept), ...events(lost), STOP]);
    expect(JSON.parse(response?.rawJson ?? "")).toEqual({
      id: "resp_1",
      model: "gpt-5",
      status: "completed",
    });
  });

  it("may come first, before the response is created", async () => {
    const { told } = await stream([{ type: "keepalive" }, unknown, CREATED, completed()]);
    expect(told).toEqual([START, ...events([unknown]), STOP]);
  });

  it("go by the event's own name where the data has none", async () => {
    const text = `event: response.output_text.delta\ndata: {"output_index":0,"content_index":0,"delta":"Hey"}\n\n`;
    const odd = 'event: dream\ndata: {"a":1}\n\ndata: {"b":2}\n\n';
    const { told } = await stream([CREATED, text, done(0, message("Hey")), odd, completed()]);
    expect(told).toEqual([
      START,
      ...textTold(0, ["Hey"]),
      { event: "dream", data: { a: 1 } },
      { event: "", data: { b: 2 } },
      STOP,
    ]);
  });
});

describe("the end of a stream", () => {
  it("is the last event: nothing behind it counts", async () => {
    const { told } = await stream([
      CREATED,
      completed(),
      "data: [DONE]\n\n",
      textDelta(0, "x"),
      "data: {broken\n\n",
    ]);
    expect(told).toEqual([START, STOP]);
  });

  it.each<[string, Sent[]]>([
    ["bare", []],
    ["with a mark of another protocol", ["data: [DONE]\n\n"]],
    ["in the middle of an event", ['data: {"type":"response.comp']],
  ])("that does not come is a cut: %s", async (_name, ends) => {
    const { told, error } = await stream([CREATED, textDelta(0, "Hey"), ...ends]);
    expect(told.slice(0, 3)).toEqual([START, { textStart: 0 }, { delta: 0, says: "Hey" }]);
    expect(told.slice(3)).toEqual([{ error: error?.message, outputStarted: true }]);
    expect(error).toBeInstanceOf(StreamError);
    expect(error).toMatchObject({ retryable: true, outputStarted: true });
  });

  it("that does not come at all is a cut without a word", async () => {
    const { told, error } = await stream([]);
    expect(told).toEqual([]);
    expect(error).toBeInstanceOf(StreamError);
    expect(error?.outputStarted).toBe(false);
  });

  it.each(["data: {broken}\n\n", "data: [1]\n\n", "data: null\n\n", "data: 7\n\n"])(
    "is a fault of the stream where the server writes %j",
    async (bad) => {
      const { told, error } = await stream([CREATED, bad, completed()]);
      expect(told).toEqual([
        START,
        { error: "an event of the provider's stream is no JSON object", outputStarted: false },
      ]);
      expect(error).toBeInstanceOf(StreamError);
    },
  );

  it("is a fault of the stream where an event is about an item of another kind", async () => {
    const { told, error } = await stream([CREATED, added(0, call("")), textDelta(0, "Hey")]);
    expect(told.at(-1)).toEqual({
      error: "the provider sent a message event for an item of another kind",
      outputStarted: true,
    });
    expect(error?.kind).toBe(ErrorKind.STREAM);
  });

  it("may be a whole text that nothing announced", async () => {
    const { response } = await stream([completed({ output: [message("Hey")] })]);
    expect(textOf(response)).toBe("Hey");
  });
});
