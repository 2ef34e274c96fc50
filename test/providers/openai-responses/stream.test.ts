import { describe, expect, it } from "vitest";
import { StreamError } from "../../../src/core/errors.ts";
import { textOf } from "../../../src/core/message.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { PNG_BASE64 } from "./conversation.ts";
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

describe("a stream as documented", () => {
  it("has one block for a text, with citations at its end", async () => {
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
    const { events } = await stream([
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
    expect(events).toEqual([
      START,
      ...textEvents(0, ["Hel", "lo"], { citations: [{ ...citation, raw: annotation }], ...textState() }),
      { ...STOP, tokens: 6 },
    ]);
  });

  it("keeps log probabilities in the state of the text, with their original spelling", async () => {
    const logprobs = '[{"token":"Hi","logprob":-0.000035477896744851020,"bytes":[72,105],"top_logprobs":[]}]';
    const data = `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hi","logprobs":${logprobs}}`;
    const item = `{"type":"message","id":"msg_0","role":"assistant","content":[{"type":"output_text","text":"Hi","annotations":[],"logprobs":${logprobs}}]}`;
    const { response } = await stream([
      CREATED,
      `event: response.output_text.delta\ndata: ${data}\n\n`,
      `event: response.output_item.done\ndata: {"type":"response.output_item.done","output_index":0,"item":${item}}\n\n`,
      completed(),
    ]);
    const [part] = response?.message?.content ?? [];
    expect(part?.part).toEqual({ case: "text", value: "Hi" });
    expect(part?.providerState?.dataJson).toContain(logprobs);
  });

  it("joins the parts of a summary in one block, and takes the encrypted content of the finished item", async () => {
    const reasoning = {
      type: "reasoning",
      id: "rs_1",
      summary: [
        { type: "summary_text", text: "First." },
        { type: "summary_text", text: "Then." },
      ],
      encrypted_content: "gAAA-long",
    };
    const { events } = await stream([
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
    expect(events).toEqual([
      START,
      { reasoningStart: 0 },
      { delta: 0, text: "Fir" },
      { delta: 0, text: "st." },
      { delta: 0, text: "\n\n" },
      { delta: 0, text: "Then." },
      { reasoningEnd: 0, reasoning: "First.\n\nThen.", redacted: false, state: { item: reasoning } },
      ...callEvents(1, ['{"a"', ":1}"]),
      TOOL_CALLS,
    ]);
  });

  it("has an empty block for hidden reasoning, so that it can be sent back", async () => {
    const item = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" };
    const { events } = await stream([CREATED, added(0, item), done(0, item), completed()]);
    expect(events).toEqual([
      START,
      { reasoningStart: 0 },
      { reasoningEnd: 0, reasoning: "", redacted: true, state: { item } },
      STOP,
    ]);
  });

  it("joins reasoning text and its summary", async () => {
    const item = {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "Short." }],
      content: [{ type: "reasoning_text", text: "Long." }],
    };
    const { events } = await stream([
      CREATED,
      added(0, item),
      summaryDelta(0, 0, "Short."),
      { type: "response.reasoning_text.delta", output_index: 0, content_index: 0, delta: "Long." },
      { type: "response.reasoning_text.done", output_index: 0, content_index: 0, text: "Long." },
      done(0, item),
      completed(),
    ]);
    expect(events).toEqual([
      START,
      { reasoningStart: 0 },
      { delta: 0, text: "Short." },
      { delta: 0, text: "\n\n" },
      { delta: 0, text: "Long." },
      { reasoningEnd: 0, reasoning: "Short.\n\nLong.", redacted: false, state: { item } },
      STOP,
    ]);
  });

  // Written by hand after the specification of Open Responses.
  it("has the reasoning of servers that follow Open Responses while it arrives", async () => {
    const item = { type: "reasoning", id: "rs_1", summary: [] };
    const { events } = await stream([
      CREATED,
      added(0, item),
      { type: "response.reasoning.delta", output_index: 0, content_index: 0, delta: "Lo" },
      { type: "response.reasoning.done", output_index: 0, content_index: 0, text: "Long." },
      done(0, item),
      completed(),
    ]);
    expect(events).toEqual([
      START,
      { reasoningStart: 0 },
      { delta: 0, text: "Lo" },
      { delta: 0, text: "ng." },
      { reasoningEnd: 0, reasoning: "Long.", redacted: false, state: { item } },
      STOP,
    ]);
  });

  it("has a text block for a refusal", async () => {
    const whole = message("", { content: [{ type: "refusal", refusal: "I won't." }] });
    const { events } = await stream([
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
    expect(events).toEqual([
      START,
      ...textEvents(0, ["I ", "won't."], { state: { item, part: { type: "refusal" } } }),
      { finish: "CONTENT_FILTER", raw: "refusal" },
    ]);
  });

  it("has a call with text input for a custom tool", async () => {
    const whole = {
      type: "custom_tool_call",
      id: "ctc_1",
      call_id: "call_1",
      name: "look",
      input: "SELECT {",
    };
    const { events } = await stream([
      CREATED,
      added(0, { ...whole, input: "" }),
      { type: "response.custom_tool_call_input.delta", output_index: 0, delta: "SELECT" },
      { type: "response.custom_tool_call_input.delta", output_index: 0, delta: " {" },
      { type: "response.custom_tool_call_input.done", output_index: 0, input: "SELECT {" },
      done(0, whole),
      completed(),
    ]);
    const state = { state: { item: { type: "custom_tool_call", id: "ctc_1" } } };
    expect(events).toEqual([
      START,
      ...callEvents(0, ["SELECT", " {"], { type: "custom" }, state),
      TOOL_CALLS,
    ]);
  });

  it("has no call for a tool that xAI has run itself, which waits for no result", async () => {
    const whole = {
      type: "custom_tool_call",
      id: "ctc_1",
      call_id: "xs_call_1",
      name: "x_keyword_search",
      input: "{}",
    };
    const { events, response } = await stream([
      CREATED,
      added(0, { ...whole, input: "" }),
      { type: "response.custom_tool_call_input.delta", output_index: 0, delta: "{}" },
      { type: "response.custom_tool_call_input.done", output_index: 0, input: "{}" },
      done(0, whole),
      added(1, message("", { content: [] })),
      done(1, message("Hey")),
      completed(),
    ]);
    expect(events).toEqual([
      START,
      { added: 0, native: whole, kind: "custom_tool_call", provider: "openai" },
      ...textEvents(1, ["Hey"]),
      STOP,
    ]);
    expect(response?.message?.content.map(({ part }) => part.case)).toEqual(["native", "text"]);
  });

  it("adds hosted tool blocks, images and unknown content as whole parts in order", async () => {
    const search = { type: "web_search_call", id: "ws_1", status: "completed", action: { query: "x" } };
    const picture = { type: "image_generation_call", id: "ig_1", status: "completed", result: PNG_BASE64 };
    const odd = { type: "output_hologram", layers: [1] };
    const whole = message("", { content: [{ type: "output_text", text: "a", annotations: [] }, odd] });
    const { events } = await stream([
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
    expect(events).toEqual([
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
      ...textEvents(2, ["a"]),
      { added: 3, native: odd, kind: "output_hologram", provider: "openai", state: { item } },
      STOP,
    ]);
  });

  it("keeps unknown content between the texts of a message", async () => {
    const odd = { type: "output_hologram", layers: [1] };
    const content = [
      { type: "output_text", text: "a", annotations: [] },
      odd,
      { type: "output_text", text: "b", annotations: [] },
    ];
    const announce = (content_index: number, part: object) => ({
      type: "response.content_part.added",
      output_index: 0,
      content_index,
      part,
    });
    const item = { status: "completed", role: "assistant" };
    for (const whole of [message("", { content }), { ...message(""), content: [content[0], content[2]] }]) {
      const { response } = await stream([
        CREATED,
        added(0, { ...whole, content: [] }),
        announce(0, { type: "output_text", text: "", annotations: [] }),
        textDelta(0, "a"),
        announce(1, odd),
        // A part without a type says nothing.
        announce(3, {}),
        announce(2, { type: "output_text", text: "", annotations: [] }),
        textDelta(0, "b", { content_index: 2 }),
        done(0, whole),
        completed(),
      ]);
      const parts = response?.message?.content ?? [];
      expect(parts.map(({ part }) => part)).toMatchObject([
        { value: "a" },
        { value: { kind: "output_hologram", dataJson: JSON.stringify(odd) } },
        { value: "b" },
      ]);
      expect(JSON.parse(parts[1]?.providerState?.dataJson ?? "")).toMatchObject({ item });
    }
  });

  it("reports an answer that a limit truncated", async () => {
    const { events, response } = await stream([
      CREATED,
      added(0, call("")),
      argumentsDelta(0, '{"a":'),
      done(0, call('{"a":', { status: "incomplete" })),
      {
        type: "response.incomplete",
        response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
      },
    ]);
    expect(events).toEqual([
      START,
      ...callEvents(0, ['{"a":'], {}, { invalid: true, ...callState({ status: "incomplete" }) }),
      { finish: "LENGTH", raw: "max_output_tokens" },
    ]);
    // The last event names neither: the first does.
    expect(response?.model).toBe("gpt-5");
  });

  it.each([
    ["response.cancelled", { status: "cancelled" }],
    ["response.cancelled", {}],
    ["response.completed", { status: "cancelled" }],
  ])("never looks complete if it was cancelled: %s with %j", async (type, fields) => {
    const { events, response } = await stream([
      CREATED,
      added(0, call("")),
      argumentsDelta(0, '{"a":1}'),
      { type, response: { ...fields, usage: { input_tokens: 3, output_tokens: 4 } } },
    ]);
    expect(events.at(-1)).toEqual({ finish: "ERROR", raw: "cancelled", tokens: 7 });
    expect(response).toMatchObject({ message: { content: [{}] }, usage: { totalTokens: 7 } });
  });

  it("is incomplete if only the type of the last event says so", async () => {
    const { events } = await stream([CREATED, done(0, message("Hey")), { type: "response.incomplete" }]);
    expect(events.at(-1)).toEqual({ finish: "OTHER", raw: "incomplete" });
  });

  it("has a warning for input that the provider changed", async () => {
    const { response } = await stream([
      CREATED,
      completed({ input_transformations: [{ reason: "turn_boundary" }] }),
    ]);
    expect(response?.warnings.map(({ code }) => code)).toEqual(["input_transformed"]);
  });
});

describe("items that interleave", () => {
  it("become interleaved blocks, each with a separate index", async () => {
    const second = { id: "fc_2", call_id: "call_2" };
    const { events } = await stream([
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
    expect(events).toEqual([
      START,
      { callStart: 0, name: "look", id: "call_1", type: "function" },
      { callStart: 1, name: "look", id: "call_2", type: "function" },
      { delta: 1, text: '{"b":' },
      { textStart: 2 },
      { delta: 2, text: "He" },
      { delta: 0, text: "{}" },
      { delta: 1, text: "2}" },
      { delta: 2, text: "y" },
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

  it("become several blocks for several texts of one message", async () => {
    const content = ["a", "b"].map((text) => ({ type: "output_text", text, annotations: [] }));
    const { events } = await stream([
      CREATED,
      added(0, message("", { content: [] })),
      textDelta(0, "a"),
      textDelta(0, "b", { content_index: 1 }),
      done(0, message("", { content })),
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
});

describe("the end of a stream", () => {
  it("ignores events after the terminal event", async () => {
    const { events } = await stream([
      CREATED,
      completed(),
      "data: [DONE]\n\n",
      textDelta(0, "x"),
      "data: {broken\n\n",
    ]);
    expect(events).toEqual([START, STOP]);
  });

  it.each<[string, Sent[]]>([
    ["without anything else", []],
    ["with the end marker of another protocol", ["data: [DONE]\n\n"]],
    ["in the middle of an event", ['data: {"type":"response.comp']],
  ])("is a stream error if the terminal event is missing: %s", async (_name, ends) => {
    const { events, error } = await stream([CREATED, textDelta(0, "Hey"), ...ends]);
    expect(events.slice(0, 3)).toEqual([START, { textStart: 0 }, { delta: 0, text: "Hey" }]);
    expect(events.slice(3)).toEqual([{ error: error?.message, outputStarted: true }]);
    expect(error).toBeInstanceOf(StreamError);
    expect(error).toMatchObject({ retryable: true, outputStarted: true });
  });

  it("is a stream error if no event was sent", async () => {
    const { events, error } = await stream([]);
    expect(events).toEqual([]);
    expect(error).toBeInstanceOf(StreamError);
    expect(error?.outputStarted).toBe(false);
  });

  it.each(["data: {broken}\n\n", "data: [1]\n\n", "data: null\n\n", "data: 7\n\n"])(
    "is a fault of the stream if the server writes %j",
    async (bad) => {
      const { events, error } = await stream([CREATED, bad, completed()]);
      expect(events).toEqual([
        START,
        { error: "an event of the provider's stream is not a JSON object", outputStarted: false },
      ]);
      expect(error).toBeInstanceOf(StreamError);
    },
  );

  it("is a stream error if an event is about an item of another kind", async () => {
    const { events, error } = await stream([CREATED, added(0, call("")), textDelta(0, "Hey")]);
    expect(events.at(-1)).toEqual({
      error: "the provider sent a message event for an item of another kind",
      outputStarted: true,
    });
    expect(error?.kind).toBe(ErrorKind.STREAM);
  });

  it("may hold a text that no earlier event announced", async () => {
    const { response } = await stream([completed({ output: [message("Hey")] })]);
    expect(textOf(response)).toBe("Hey");
  });
});
