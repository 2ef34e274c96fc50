import { describe, expect, it } from "vitest";
import { ServerError, StreamError } from "../../../src/core/errors.ts";
import { reasoningOf, textOf, toolCallsOf, userMessage } from "../../../src/core/message.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { FinishReason_Reason as Reason } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { getProfile } from "../../../src/providers/openai-chat/profiles.ts";
import { createRandom } from "../../support/random.ts";
import { readParts } from "./reading.ts";
import {
  answerTo,
  chunk,
  decodeBytes,
  decodeEvents,
  getFinal,
  respond,
  sent,
  toMessages,
} from "./support.ts";

const text = (content: string) => chunk({ content });
const piece = (call: object) => ({ tool_calls: [call] });

/** The calls of some deltas: id, name and arguments. */
async function getCalls(deltas: readonly object[]): Promise<string[]> {
  const calls = toolCallsOf(await answerTo(deltas, {}, "tool_calls"));
  return calls.map(({ id, name, input }) => `${id} ${name} ${input.value}`);
}

describe("tool calls in a stream", () => {
  const fn = (name: string, args: unknown) => ({ name, arguments: args });

  it.each<[string, object[], string[]]>([
    [
      "arguments in pieces",
      [
        piece({ index: 0, id: "a", type: "function", function: fn("f", "") }),
        piece({ index: 0, function: { arguments: '{"x"' } }),
        piece({ index: 0, function: { arguments: ":1}" } }),
      ],
      ['a f {"x":1}'],
    ],
    ["the whole call at once", [piece({ index: 0, id: "a", function: fn("f", '{"x":1}') })], ['a f {"x":1}']],
    [
      "arguments as an object",
      [piece({ index: 0, id: "a", function: fn("f", { x: 1, y: { z: null } }) })],
      ['a f {"x":1,"y":{"z":null}}'],
    ],
    ["no arguments", [piece({ index: 0, id: "a", function: fn("f", "") })], ["a f {}"]],
    [
      "indices that are texts, and ids that are numbers",
      [
        piece({ index: "0", id: 7, function: fn("f", '{"x":') }),
        piece({ index: "1", id: 8, function: fn("g", '{"y":') }),
        piece({ index: "0", function: { arguments: "1}" } }),
        piece({ index: "1", function: { arguments: "2}" } }),
      ],
      ['7 f {"x":1}', '8 g {"y":2}'],
    ],
    ["null arguments", [piece({ index: 0, id: "a", function: fn("f", null) })], ["a f {}"]],
    [
      "calls that interleave",
      [
        piece({ index: 0, id: "a", function: fn("f", '{"x":') }),
        piece({ index: 1, id: "b", function: fn("g", '{"y":') }),
        piece({ index: 0, function: { arguments: "1}" } }),
        piece({ index: 1, function: { arguments: "2}" } }),
      ],
      ['a f {"x":1}', 'b g {"y":2}'],
    ],
    [
      "no index, but ids",
      [
        piece({ id: "a", function: fn("f", '{"x":') }),
        piece({ function: { arguments: "1}" } }),
        piece({ id: "b", function: fn("g", '{"y":') }),
        piece({ id: "b", function: { arguments: "2}" } }),
      ],
      ['a f {"x":1}', 'b g {"y":2}'],
    ],
    [
      "neither index nor id",
      [
        piece({ function: fn("f", '{"x":') }),
        piece({ function: { arguments: "1}" } }),
        piece({ function: fn("g", "{}") }),
        piece({ function: fn("g", "{}") }),
      ],
      ['call_test f {"x":1}', "call_test_2 g {}", "call_test_3 g {}"],
    ],
    [
      "several in one list, neither index nor id nor arguments",
      [{ tool_calls: [{ function: fn("f", "") }, { function: fn("f", "") }] }],
      ["call_test f {}", "call_test_2 f {}"],
    ],
    [
      "index 0 for every call",
      [
        piece({ index: 0, id: "a", function: fn("f", '{"x":1}') }),
        piece({ index: 0, id: "b", function: fn("f", '{"x":2}') }),
      ],
      ['a f {"x":1}', 'b f {"x":2}'],
    ],
    [
      "index 0 and the same id for every call",
      [
        piece({ index: 0, id: "a", function: fn("f", '{"x":1}') }),
        piece({ index: 0, id: "a", function: fn("g", '{"x":2}') }),
      ],
      ['a f {"x":1}', 'a_2 g {"x":2}'],
    ],
    [
      "the same id for two calls",
      [
        piece({ index: 0, id: "a", function: fn("f", "{}") }),
        piece({ index: 1, id: "a", function: fn("g", "{}") }),
      ],
      ["a f {}", "a_2 g {}"],
    ],
    [
      "the id repeated as an empty one",
      [
        piece({ index: 0, id: "a", function: fn("f", '{"x"') }),
        piece({ index: 0, id: "", function: { name: "", arguments: ":1}" } }),
      ],
      ['a f {"x":1}'],
    ],
    [
      "a new id with every piece",
      [
        piece({ index: 0, id: "a", function: fn("f", '{"x"') }),
        piece({ index: 0, id: "b", function: { arguments: ":1}" } }),
      ],
      ['a f {"x":1}'],
    ],
    [
      "a new id with every piece, and no index",
      [piece({ id: "a", function: fn("f", '{"x"') }), piece({ id: "b", function: { arguments: ":1}" } })],
      ['a f {"x":1}'],
    ],
    [
      "an id that arrives late",
      [
        piece({ index: 0, function: fn("f", "") }),
        piece({ index: 0, id: "a", function: { arguments: "{}" } }),
      ],
      ["a f {}"],
    ],
    [
      "a name in pieces",
      [
        piece({ index: 0, id: "a", function: { name: "get_" } }),
        piece({ index: 0, function: fn("weather", "{}") }),
      ],
      ["a get_weather {}"],
    ],
    [
      "a name that is repeated in every piece",
      [
        piece({ index: 0, id: "a", function: fn("f", '{"x"') }),
        piece({ index: 0, id: "a", function: fn("f", ":1}") }),
      ],
      ['a f {"x":1}'],
    ],
    [
      "a name that grows",
      [
        piece({ index: 0, id: "a", function: { name: "get_" } }),
        piece({ index: 0, id: "a", function: { name: "get_weather" } }),
        piece({ index: 0, function: { arguments: "{}" } }),
      ],
      ["a get_weather {}"],
    ],
    [
      "a name after the arguments",
      [
        piece({ index: 0, id: "a", function: { arguments: '{"x"' } }),
        piece({ index: 0, function: { arguments: ":1}" } }),
        piece({ index: 0, function: { name: "f" } }),
      ],
      ['a f {"x":1}'],
    ],
    [
      "an empty entry, and one that is cut before its name",
      [piece({ index: 0 }), piece({ index: 1, id: "a", function: { name: "", arguments: "" } })],
      [],
    ],
    [
      "the older form of a single function",
      [{ function_call: { name: "f" } }, { function_call: { arguments: '{"x":1}' } }],
      ['call_test f {"x":1}'],
    ],
    ["null where there are none", [{ tool_calls: null, content: null, refusal: null }], []],
  ])("are read with %s", async (_, deltas, calls) => {
    expect(await getCalls(deltas)).toEqual(calls);
  });

  it("are not counted if their entries are empty", async () => {
    const response = await answerTo([{ content: "a" }, piece({ index: 0, id: "a", function: { name: "" } })]);
    expect(response.finishReason?.reason).toBe(Reason.STOP);
  });

  it("keep the free text of a custom tool", async () => {
    const response = await answerTo([
      piece({ index: 0, id: "a", type: "custom", custom: { name: "grep", input: "fo" } }),
      piece({ index: 0, type: "custom", custom: { input: "o.*" } }),
    ]);
    expect(toolCallsOf(response)).toMatchObject([
      { id: "a", name: "grep", input: { case: "text", value: "foo.*" }, argumentsInvalid: false },
    ]);
  });

  it("keep arguments that were cut, and mark them", async () => {
    const response = await answerTo([piece({ index: 0, id: "a", function: fn("f", '{"x":') })], {}, "length");
    expect(toolCallsOf(response)).toMatchObject([{ input: { value: '{"x":' }, argumentsInvalid: true }]);
    expect(response.finishReason?.reason).toBe(Reason.LENGTH);
  });

  it("start as soon as name and arguments are known, and end together", async () => {
    const { events } = await decodeEvents([
      chunk(piece({ index: 0, id: "a", function: fn("f", "{") })),
      chunk(piece({ index: 0, function: { arguments: "}" } })),
      chunk({}, "tool_calls"),
      "[DONE]",
    ]);
    expect(events.map(({ event }) => event.case)).toEqual([
      "streamStart",
      "toolCallStart",
      "toolCallDelta",
      "toolCallDelta",
      "toolCallEnd",
      "finish",
    ]);
  });
});

describe("the parts of a stream", () => {
  it("are in the order in which they arrive", async () => {
    const response = await answerTo([
      { reasoning_content: "hm" },
      { content: "one " },
      { content: "two" },
      piece({ index: 0, id: "a", function: { name: "f", arguments: "{}" } }),
      { content: " three" },
    ]);
    expect(readParts(response.message?.content ?? [])).toEqual([
      { reasoning: "hm" },
      { text: "one two three", citations: [] },
      { call: "f", id: "a", input: "{}" },
    ]);
  });

  it("end reasoning when text or a call begins, and start a new part if it continues later", async () => {
    const { events } = await decodeEvents([
      chunk({ reasoning: "a" }),
      chunk({ reasoning: "b", content: "" }),
      text("c"),
      chunk({ reasoning: "d" }),
      text("e"),
      chunk({}, "stop"),
      "[DONE]",
    ]);
    const cases = events.map(({ event }) => event.case);
    expect(cases.indexOf("reasoningEnd")).toBeLessThan(cases.indexOf("textStart"));
    expect(readParts(getFinal({ events, error: undefined }).message?.content ?? [])).toEqual([
      { reasoning: "ab" },
      { text: "c", citations: [] },
      { reasoning: "d" },
      { text: "e", citations: [] },
    ]);
  });

  it.each([
    ["reasoning_content", { reasoning_content: "hm" }],
    ["reasoning", { reasoning: "hm" }],
    ["reasoning_text", { reasoning_text: "hm" }],
    ["both, the same twice", { reasoning_content: "hm", reasoning: "hm" }],
    ["details alone", { reasoning_details: [{ type: "reasoning.summary", summary: "hm", index: 0 }] }],
    ["thinking blocks alone", { thinking_blocks: [{ type: "thinking", thinking: "hm", signature: "s" }] }],
    ["a content list", { content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }],
    ["a content list with a bare text", { content: [{ type: "thinking", thinking: "hm" }] }],
  ])("find reasoning in %s", async (_, delta) => {
    expect(reasoningOf(await answerTo([delta]))).toBe("hm");
  });

  it("have no reasoning part for an empty closing piece", async () => {
    const closing = { content: [{ type: "thinking", thinking: [], closed: true }] };
    const response = await answerTo([{ content: [{ type: "text", text: "a" }] }, closing]);
    expect(response.message?.content.map(({ part }) => part.case)).toEqual(["text"]);
  });

  it("begin a part of reasoning after the signature of the one before", async () => {
    const piece = (text: string, signature?: string) => ({
      content: [{ type: "thinking", thinking: text === "" ? [] : [{ type: "text", text }], signature }],
    });
    const response = await answerTo([piece("a"), piece("b"), piece("", "s1"), piece("c"), piece("", "s2")]);
    const parts = response.message?.content ?? [];
    expect(parts.map(({ part }) => part.value)).toMatchObject([{ text: "ab" }, { text: "c" }]);
    expect(parts.map(({ providerState }) => JSON.parse(providerState?.dataJson ?? ""))).toMatchObject([
      { chunk: { signature: "s1" } },
      { chunk: { signature: "s2" } },
    ]);
    const repeated = await answerTo([piece("a", "s"), piece("b", "s")]);
    expect(reasoningOf(repeated)).toBe("ab");
    expect(repeated.message?.content).toHaveLength(1);
  });

  it("join the texts of reasoning that also refers to sources", async () => {
    const piece = (thinking: unknown) => ({ content: [{ type: "thinking", thinking }] });
    const reference = { type: "reference", reference_ids: [1] };
    const text = (value: string) => [{ type: "text", text: value }];
    const response = await answerTo([piece("a"), piece(text("b")), piece([reference]), piece(text("c"))]);
    expect(reasoningOf(response)).toBe("abc");
    expect(JSON.parse(response.message?.content[0]?.providerState?.dataJson ?? "")).toMatchObject({
      chunk: { thinking: [{ type: "text", text: "ab" }, reference, { type: "text", text: "c" }] },
    });
  });

  it("mark reasoning as redacted if there is only its encrypted form", async () => {
    const encrypted = { type: "reasoning.encrypted", data: "sealed", format: "x", index: 0 };
    const response = await answerTo([{ reasoning: null, reasoning_details: [encrypted] }, { content: "hi" }]);
    const [first] = response.message?.content ?? [];
    expect(first?.part).toMatchObject({ case: "reasoning", value: { text: "", redacted: true } });
    expect(JSON.parse(first?.providerState?.dataJson ?? "")).toEqual({
      field: "reasoning",
      details: [encrypted],
    });
  });

  it("keep unknown parts of a content list in order", async () => {
    const reference = { type: "reference", reference_ids: [1] };
    const response = await answerTo([
      { content: [{ type: "text", text: "a" }, reference] },
      { content: [{ type: "text", text: "b" }] },
    ]);
    expect(response.message?.content.map(({ part }) => part)).toMatchObject([
      { case: "text", value: "a" },
      {
        case: "native",
        value: { provider: "compatible", kind: "reference", dataJson: JSON.stringify(reference) },
      },
      { case: "text", value: "b" },
    ]);
  });

  it("hold images, as bytes if they are data: URLs", async () => {
    const url = `data:image/png;base64,${Buffer.from("picture").toString("base64")}`;
    const images = [
      { type: "image_url", image_url: { url } },
      { type: "image_url", image_url: { url: "https://x.example/a.png" } },
    ];
    const response = await answerTo([{ content: "see" }, { images }]);
    expect(response.message?.content.map(({ part }) => part)).toMatchObject([
      { case: "text" },
      {
        case: "image",
        value: {
          mediaType: "image/png",
          source: { case: "data", value: new Uint8Array(Buffer.from("picture")) },
        },
      },
      { case: "image", value: { source: { case: "url", value: "https://x.example/a.png" } } },
    ]);
  });

  it("hold audio, with its data joined and its transcript as text", async () => {
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const response = await answerTo([
      { audio: { id: "audio_1" } },
      { audio: { transcript: "Good ", data: base64("ab") } },
      { audio: { transcript: "day", data: base64("cde") } },
      { audio: { expires_at: 7 } },
    ]);
    const [audio, transcript] = response.message?.content ?? [];
    expect(textOf(response)).toBe("Good day");
    expect(transcript?.part.case).toBe("text");
    expect(audio?.part).toMatchObject({ case: "native", value: { kind: "audio" } });
    const data = audio?.part.case === "native" ? JSON.parse(audio.part.value.dataJson) : {};
    expect(data).toEqual({ id: "audio_1", expires_at: 7, data: base64("abcde"), transcript: "Good day" });
  });

  it("hold the sources of annotations, and those listed alongside the message", async () => {
    const citation = { start_index: 0, end_index: 2, url: "https://a.example", title: "A" };
    const annotation = { type: "url_citation", url_citation: citation };
    const { events } = await decodeEvents([
      text("hi"),
      chunk({ annotations: [annotation] }, null, { citations: ["https://b.example"] }),
      chunk({}, "stop"),
      "[DONE]",
    ]);
    const [part] = getFinal({ events, error: undefined }).message?.content ?? [];
    expect(part?.citations).toMatchObject([
      { type: "url_citation", url: "https://a.example", title: "A", startIndex: 0, endIndex: 2 },
      { type: "citation", url: "https://b.example", rawJson: '"https://b.example"' },
    ]);
  });

  it("hold sources even if there is no text", async () => {
    const { events } = await decodeEvents([
      chunk({}, "stop", { search_results: [{ url: "u", title: "T", snippet: "S" }] }),
    ]);
    const [part] = getFinal({ events, error: undefined }).message?.content ?? [];
    expect(part?.citations).toMatchObject([{ type: "search_result", url: "u", title: "T", citedText: "S" }]);
  });

  // Written by hand after Z.ai's documentation.
  it("hold the pages of a search that Z.ai lists alongside them", async () => {
    const page = { title: "T", link: "u", content: "S", media: "M", refer: "ref_1" };
    const response = getFinal(
      await decodeEvents([text("a[ref_1]"), chunk({}, "stop", { web_search: [page] })]),
    );
    expect(response.message?.content[0]?.citations).toMatchObject([
      { type: "search_result", url: "u", title: "T", citedText: "S", rawJson: JSON.stringify(page) },
    ]);
  });

  it("keep log probabilities in the state of their text", async () => {
    const probability = (token: string) => ({ token, logprob: -0.5 });
    const { events } = await decodeEvents([
      {
        choices: [
          { index: 0, delta: { content: "a" }, logprobs: { content: [probability("a")], refusal: null } },
        ],
      },
      {
        choices: [
          {
            index: 0,
            delta: { content: "b" },
            logprobs: { content: [probability("b")] },
            finish_reason: "stop",
          },
        ],
      },
      "[DONE]",
    ]);
    const [part] = getFinal({ events, error: undefined }).message?.content ?? [];
    expect(JSON.parse(part?.providerState?.dataJson ?? "").logprobs).toEqual([
      probability("a"),
      probability("b"),
    ]);
  });

  it("never hold half of a surrogate pair", async () => {
    const response = await answerTo([{ content: "\ud83d" }, { content: "\ude00" }]);
    expect(textOf(response)).toBe("😀");
  });

  it("are none if the model writes nothing", async () => {
    const response = await answerTo([{ role: "assistant", content: "" }, { content: null }]);
    expect(response.message?.content).toEqual([]);
  });
});

/** One step of a generated stream: what it sends, and for which of the calls. */
function step(random: () => number, pieces: string[]): object {
  const letter = String.fromCharCode(97 + Math.floor(random() * 26));
  const kind = Math.floor(random() * 4);
  if (kind === 0) return { content: letter };
  if (kind === 1) return { reasoning_content: letter };
  const index = Math.floor(random() * 3);
  const isFirst = pieces[index] === undefined;
  pieces[index] = `${pieces[index] ?? ""}${letter}`;
  return piece({
    index,
    ...(isFirst
      ? { id: `id_${index}`, function: { name: `f${index}`, arguments: letter } }
      : { function: { arguments: letter } }),
  });
}

describe("any order of deltas", () => {
  it("obeys the laws and loses no text", async () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const random = createRandom(seed);
      const pieces: string[] = [];
      const deltas = Array.from({ length: 30 }, () => step(random, pieces));
      const response = await answerTo(deltas, {}, "tool_calls");
      const join = (key: string) =>
        deltas.map((delta) => (delta as Record<string, string>)[key] ?? "").join("");
      expect(textOf(response)).toBe(join("content"));
      expect(reasoningOf(response).replaceAll("\n", "")).toBe(join("reasoning_content"));
      const calls = toolCallsOf(response).map(({ name, input }) => [name, input.value]);
      const expected = pieces
        .map((text, index) => [`f${index}`, text])
        .filter(([, text]) => text !== undefined);
      expect(calls.sort()).toEqual(expected);
    }
  });
});

describe("the framing of a stream", () => {
  it("may have missing choices, comments, empty data, event names and CRLF", async () => {
    const lines = [
      ": OPENROUTER PROCESSING",
      "",
      'data: {"id":"1","model":"m"}',
      "",
      "data:",
      "",
      'event: message\r\ndata: {"choices":[{"delta":{"content":"hi"}}]}\r',
      "\r",
      'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}',
      "",
      "data: [DONE]",
      "",
      "",
    ];
    const response = getFinal(await decodeBytes([Buffer.from(lines.join("\n"))]));
    expect({ text: textOf(response), model: response.model }).toEqual({ text: "hi", model: "m" });
  });

  it("starts with the name of the model, even if the first chunk has none", async () => {
    const { events } = await decodeEvents([
      { choices: [], model: "", prompt_filter_results: [] },
      chunk({ content: "a" }),
      chunk({}, "stop"),
    ]);
    expect(events[0]?.event).toMatchObject({ case: "streamStart", value: { model: "model-1" } });
  });

  it.each([
    [
      "beside the finish reason",
      [text("a"), chunk({}, "stop", { usage: { prompt_tokens: 1, completion_tokens: 2 } })],
    ],
    [
      "after it",
      [text("a"), chunk({}, "stop"), { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } }],
    ],
    [
      "growing in every chunk",
      [
        chunk({ content: "a" }, null, { usage: { prompt_tokens: 1, completion_tokens: 1 } }),
        chunk({}, "stop", { usage: { prompt_tokens: 1, completion_tokens: 2 } }),
      ],
    ],
    [
      "split over two chunks",
      [
        chunk({ content: "a" }, null, { usage: { prompt_tokens: 1, total_tokens: 1 } }),
        chunk({}, "stop", { usage: { prompt_tokens: null, completion_tokens: 2 } }),
        { choices: [], usage: { cost: 0 } },
      ],
    ],
    [
      "under x_groq",
      [text("a"), chunk({}, "stop", { x_groq: { usage: { prompt_tokens: 1, completion_tokens: 2 } } })],
    ],
    [
      "in the choice",
      [
        text("a"),
        {
          choices: [
            { index: 0, delta: {}, finish_reason: "stop", usage: { prompt_tokens: 1, completion_tokens: 2 } },
          ],
        },
      ],
    ],
  ])("has the token counts %s", async (_, events) => {
    const response = getFinal(await decodeEvents([...events, "[DONE]"]));
    expect(response.usage).toMatchObject({ inputTokens: 1, outputTokens: 2, totalTokens: 3 });
    expect(response.warnings).toEqual([]);
  });

  it("is finished by a normal close after a finish reason, and never without one", async () => {
    expect(textOf(getFinal(await decodeEvents([text("a"), chunk({}, "stop")])))).toBe("a");
    for (const events of [[text("a")], [text("a"), "[DONE]"], ["[DONE]"], []]) {
      const { error, events: ours } = await decodeEvents(events);
      expect(error).toBeInstanceOf(StreamError);
      expect(ours.at(-1)?.event.case).toBe(ours.length === 0 ? undefined : "error");
    }
  });

  it.each(["", "null"])("treats the finish reason %j as none", async (none) => {
    const { error } = await decodeEvents([chunk({ content: "a" }, none)]);
    expect(error).toBeInstanceOf(StreamError);
    const response = getFinal(await decodeEvents([chunk({ content: "a" }, none), chunk({}, "length")]));
    expect(response.finishReason?.raw).toBe("length");
  });

  it("needs its end marker or its finish reason only if the profile requires it", async () => {
    const unmarked = await decodeEvents([text("a"), chunk({}, "stop")], { requireDone: true });
    expect(unmarked.error).toBeInstanceOf(StreamError);
    const lenient = getProfile("snowflake", "");
    expect(lenient.requireFinishReason).toBe(false);
    const response = getFinal(await decodeEvents([text("a"), "[DONE]"], lenient));
    expect(response.finishReason).toMatchObject({ reason: Reason.OTHER, raw: "" });
    expect((await decodeEvents([text("a")], lenient)).error).toBeInstanceOf(StreamError);
  });

  // Written by hand after MiniMax's streams, which have reasoning twice.
  it("sends MiniMax's reasoning back in the form that carries it whole", async () => {
    const detail = (piece: string) => ({ type: "reasoning.text", id: "r-1", index: 0, text: piece });
    const reasoning = (piece: string) => ({ reasoning_content: piece, reasoning_details: [detail(piece)] });
    const response = await answerTo([reasoning("The "), reasoning("user"), { content: "Hi" }], "minimax");
    expect([reasoningOf(response), textOf(response)]).toEqual(["The user", "Hi"]);
    const messages = [userMessage("hi"), response.message ?? userMessage(""), userMessage("on")];
    const { body } = await sent({ messages }, "minimax");
    expect(toMessages(body)[1]).toEqual({
      role: "assistant",
      content: "Hi",
      reasoning_details: [detail("The user")],
    });
  });

  // Written by hand after MiniMax's streams.
  it("may repeat the whole message in its last chunk", async () => {
    const success = { base_resp: { status_code: 0, status_msg: "" } };
    const message = { role: "assistant", content: "Hello", reasoning_content: "hm" };
    const last = { choices: [{ index: 0, finish_reason: "stop", message }], ...success };
    const deltas = [chunk({ reasoning_content: "hm" }), text("Hel"), chunk({ content: "lo" }, "stop")];
    for (const events of [[...deltas, last], [last]]) {
      const response = getFinal(await decodeEvents(events));
      expect([reasoningOf(response), textOf(response)]).toEqual(["hm", "Hello"]);
    }
  });

  it("may continue after the finish reason", async () => {
    const response = getFinal(
      await decodeEvents([
        text("a"),
        chunk({}, "length"),
        text("b"),
        chunk({ content: "" }, "stop"),
        "[DONE]",
      ]),
    );
    expect(textOf(response)).toBe("ab");
    expect(response.finishReason).toMatchObject({ reason: Reason.LENGTH, raw: "length" });
  });

  it("names a filter or a limit that the server reports after an ordinary end", async () => {
    const events = [text("a"), chunk({}, "stop"), chunk({}, "content_filter"), chunk({}, "stop"), "[DONE]"];
    const { finishReason } = getFinal(await decodeEvents(events));
    expect(finishReason).toMatchObject({ reason: Reason.CONTENT_FILTER, raw: "content_filter" });
  });

  it("has a warning about further answers and passes them on", async () => {
    const other = { index: 1, delta: { content: "b" } };
    const { events } = await decodeEvents([
      text("a"),
      { object: "chat.completion.chunk", choices: [other] },
      chunk({}, "stop"),
      "[DONE]",
    ]);
    const response = getFinal({ events, error: undefined });
    expect(textOf(response)).toBe("a");
    expect(response.warnings.map(({ code }) => code)).toEqual(["further_candidates"]);
    const passed = events.flatMap(({ event }) => (event.case === "providerEvent" ? [event.value] : []));
    expect(passed.map(({ type, dataJson }) => [type, JSON.parse(dataJson).choices])).toEqual([
      ["chat.completion.chunk", [other]],
    ]);
  });

  it("passes every chunk on with include_raw", async () => {
    const chunks = [
      { choices: [], prompt_filter_results: [] },
      text("a"),
      chunk({}, "stop", { system_fingerprint: "fp" }),
    ];
    const { events } = await decodeEvents([...chunks, "[DONE]"], {}, { model: "m", includeRaw: true });
    const passed = events.flatMap(({ event }) =>
      event.case === "providerEvent" ? [event.value.dataJson] : [],
    );
    expect(passed.map((data) => JSON.parse(data))).toEqual(chunks);
  });
});

describe("a failure in a stream", () => {
  it.each<[string, object, Partial<{ kind: ErrorKind; errorCode: string; retryable: boolean }>]>([
    [
      "OpenAI's shape",
      { error: { message: "busy", type: "server_error", code: null } },
      { kind: ErrorKind.SERVER },
    ],
    ["a status as code", { error: { message: "slow down", code: 429 } }, { kind: ErrorKind.RATE_LIMIT }],
    ["a status as text", { error: { message: "slow down", code: "429" } }, { kind: ErrorKind.RATE_LIMIT }],
    [
      "beside a choice (OpenRouter)",
      {
        error: { message: "gone", code: 502 },
        choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
      },
      { kind: ErrorKind.SERVER },
    ],
    [
      "inside a choice",
      {
        choices: [{ index: 0, delta: {}, error: { message: "no money", code: 402 }, finish_reason: "error" }],
      },
      { kind: ErrorKind.QUOTA_EXCEEDED, retryable: false },
    ],
    ["a bare text", { error: "model crashed" }, { kind: ErrorKind.PROVIDER }],
    [
      "beside the chunk (Groq)",
      { choices: [], x_groq: { error: "Rate limit reached" } },
      { kind: ErrorKind.RATE_LIMIT },
    ],
    [
      "at the top (vLLM)",
      { object: "error", message: "bad", type: "BadRequestError", code: 400 },
      { kind: ErrorKind.INVALID_REQUEST },
    ],
    // Written by hand after MiniMax's documentation, like the next two.
    [
      "MiniMax's status",
      { choices: null, base_resp: { status_code: 1002, status_msg: "rate limit" } },
      { kind: ErrorKind.RATE_LIMIT, errorCode: "1002" },
    ],
    [
      "MiniMax's objection to a text",
      { choices: null, base_resp: { status_code: 1027, status_msg: "output new_sensitive" } },
      { kind: ErrorKind.CONTENT_FILTER, retryable: false },
    ],
    [
      "an unknown status of MiniMax",
      { base_resp: { status_code: 1099, status_msg: "?" } },
      { kind: ErrorKind.SERVER },
    ],
    [
      "MiniMax's status as text",
      { choices: [], base_resp: { status_code: "1026", status_msg: "input new_sensitive" } },
      { kind: ErrorKind.CONTENT_FILTER, errorCode: "1026" },
    ],
    [
      "a number of Z.ai",
      { error: { code: "1302", message: "too many" } },
      { kind: ErrorKind.RATE_LIMIT, errorCode: "1302", retryable: true },
    ],
    [
      "the status of TGI",
      { error: { message: "Model is overloaded", http_status_code: 429 } },
      { kind: ErrorKind.RATE_LIMIT },
    ],
    [
      "the type of TGI",
      { error: "Request failed during generation: oom", error_type: "generation" },
      { kind: ErrorKind.SERVER, errorCode: "generation" },
    ],
    [
      "a number and a text (Baidu)",
      { error_code: 336003, error_msg: "the length of messages must be an odd number" },
      { kind: ErrorKind.PROVIDER, errorCode: "336003" },
    ],
    [
      "a message without choices, all fields written",
      { code: 10013, message: "input is filtered", choices: null, usage: null },
      { kind: ErrorKind.PROVIDER, errorCode: "10013" },
    ],
    [
      "the texts that a filter stopped (Z.ai)",
      { error: { code: "1301", message: "unsafe" }, contentFilter: [{ level: 1, role: "assistant" }] },
      { kind: ErrorKind.CONTENT_FILTER, retryable: false },
    ],
    [
      "a code for throttling (Alibaba)",
      { error: { code: "Throttling.RateQuota", message: "slow down" } },
      { kind: ErrorKind.RATE_LIMIT },
    ],
    [
      "a context that is full while the model writes (llama.cpp)",
      { error: { code: 500, message: "Context size has been exceeded.", type: "server_error" } },
      { kind: ErrorKind.CONTEXT_LENGTH, retryable: false },
    ],
    [
      "a message without choices",
      { message: "Unauthorized", status: 401 },
      { kind: ErrorKind.AUTHENTICATION },
    ],
  ])("is reported as %s", async (_, failure, expected) => {
    const { events, error } = await decodeEvents([text("a"), failure, "[DONE]"]);
    expect(error).toMatchObject({ ...expected, outputStarted: true });
    expect(events.map(({ event }) => event.case)).toEqual(["streamStart", "textStart", "textDelta", "error"]);
  });

  // Written by hand after MiniMax's documentation.
  it("may be that a filter left nothing of the answer", async () => {
    const withheld = { output_sensitive: true, output_sensitive_type: 1, base_resp: { status_code: 0 } };
    const empty = { role: "assistant", content: "" };
    const finishReason = { reason: Reason.CONTENT_FILTER, raw: "stop" };
    const whole = { choices: [{ index: 0, message: empty, finish_reason: "stop" }], ...withheld };
    expect(respond(whole)).toMatchObject({ finishReason });
    expect(respond({ choices: null, ...withheld })).toMatchObject({
      finishReason: { ...finishReason, raw: "" },
    });
    const events = [chunk(empty), chunk({}, "stop", withheld), "[DONE]"];
    expect(getFinal(await decodeEvents(events))).toMatchObject({ finishReason });
    const mild = getFinal(await decodeEvents([text("a"), chunk({}, "stop", withheld), "[DONE]"]));
    expect(mild).toMatchObject({ finishReason: { reason: Reason.STOP } });
  });

  it.each(["", {}, { message: "", type: "", param: "", code: null }])(
    "is not reported by an error without content next to an answer: %j",
    async (none) => {
      const response = getFinal(
        await decodeEvents([{ ...text("a"), error: none }, { ...chunk({}, "stop"), error: none }, "[DONE]"]),
      );
      expect(textOf(response)).toBe("a");
      const message = { role: "assistant", content: "a" };
      const whole = { error: none, choices: [{ index: 0, message, error: none, finish_reason: "stop" }] };
      expect(textOf(respond(whole))).toBe("a");
      expect(() => respond({ error: none || {} })).toThrow();
    },
  );

  it("before the first chunk is the only event", async () => {
    const { events, error } = await decodeEvents([{ error: { message: "no", code: 401 } }]);
    expect(events).toEqual([]);
    expect(error).toMatchObject({ kind: ErrorKind.AUTHENTICATION, outputStarted: false });
  });

  it("without any framing is found at the end of the stream", async () => {
    const bytes = `data: ${JSON.stringify(text("a"))}\n\n{"error":{"message":"out of memory","code":500}}`;
    const { error } = await decodeBytes([Buffer.from(bytes)]);
    expect(error).toMatchObject({ kind: ErrorKind.SERVER, outputStarted: true });
  });

  // Written by hand after llama.cpp, until its build 6500.
  it("in a separate field is found before the end marker", async () => {
    const failure = { code: 500, message: "context shift is disabled", type: "server_error" };
    const bytes = `data: ${JSON.stringify(text("a"))}\n\nerror: ${JSON.stringify(failure)}\n\ndata: [DONE]\n\n`;
    const { error } = await decodeBytes([Buffer.from(bytes)]);
    expect(error).toMatchObject({ kind: ErrorKind.SERVER, outputStarted: true });
    expect(error).toMatchObject({ message: expect.stringContaining("context shift is disabled") });
  });

  it("after the finish reason is still a failure", async () => {
    const bytes = `data: ${JSON.stringify(chunk({ content: "a" }, "stop"))}\n\n{"error":{"message":"x","code":500}}`;
    expect((await decodeBytes([Buffer.from(bytes)])).error).toMatchObject({ kind: ErrorKind.SERVER });
  });

  it("has the usage of the call", async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 1 };
    const { error } = await decodeEvents([
      chunk({ content: "a" }, null, { usage }),
      { error: { code: 500 } },
    ]);
    expect(error).toMatchObject({ usage: { inputTokens: 5, outputTokens: 1 } });
  });

  it("is invalid JSON, or JSON that is not an object", async () => {
    for (const data of ["{broken", "null", "[1]", '"text"']) {
      expect((await decodeEvents([text("a"), data])).error).toBeInstanceOf(StreamError);
    }
  });
});

describe("the finish reason", () => {
  it.each([
    ["stop", Reason.STOP],
    ["TOOL_CALL", Reason.TOOL_CALLS],
    ["content_filtered", Reason.CONTENT_FILTER],
    ["guardrail_intervened", Reason.CONTENT_FILTER],
    ["ERROR_TOXIC", Reason.CONTENT_FILTER],
    ["RECITATION", Reason.CONTENT_FILTER],
    ["BLOCKLIST", Reason.CONTENT_FILTER],
    ["PROHIBITED_CONTENT", Reason.CONTENT_FILTER],
    ["SPII", Reason.CONTENT_FILTER],
    ["eos", Reason.STOP],
    ["end_turn", Reason.STOP],
    ["stop_sequence", Reason.STOP],
    ["length", Reason.LENGTH],
    ["model_length", Reason.LENGTH],
    ["tool_calls", Reason.TOOL_CALLS],
    ["function_call", Reason.TOOL_CALLS],
    ["content_filter", Reason.CONTENT_FILTER],
    ["SAFETY", Reason.CONTENT_FILTER],
    ["content_filter: RECITATION", Reason.CONTENT_FILTER],
    ["COMPLETE", Reason.STOP],
    ["error", Reason.ERROR],
    ["insufficient_system_resource", Reason.ERROR],
    ["abort", Reason.ERROR],
    ["function_call_filter: MALFORMED_FUNCTION_CALL", Reason.ERROR],
    ["cancelled", Reason.ERROR],
    ["something_new", Reason.OTHER],
  ])("is read from %s", async (raw, reason) => {
    expect((await answerTo([{ content: "a" }], {}, raw)).finishReason).toMatchObject({ reason, raw });
  });

  it("is TOOL_CALLS if there are calls, whatever the server reports", async () => {
    const calls = { tool_calls: [{ id: "a", function: { name: "f", arguments: "{}" } }] };
    expect((await answerTo([calls])).finishReason).toMatchObject({ reason: Reason.TOOL_CALLS, raw: "stop" });
    expect((await answerTo([calls], {}, "length")).finishReason?.reason).toBe(Reason.LENGTH);
  });

  it("is CONTENT_FILTER if the model refuses", async () => {
    const response = await answerTo([{ refusal: "I " }, { refusal: "won't" }]);
    expect(response.finishReason).toMatchObject({ reason: Reason.CONTENT_FILTER, raw: "stop" });
    expect(textOf(response)).toBe("I won't");
  });

  // Written by hand after Gemini's API for OpenAI clients.
  it("explains an answer without a message if it was filtered, which is not a failure to retry", async () => {
    const filtered = {
      id: "a",
      model: "m",
      choices: [{ index: 0, finish_reason: "content_filter: PROHIBITED_CONTENT" }],
    };
    const answers = [respond(filtered), getFinal(await decodeEvents([filtered, "[DONE]"]))];
    for (const { message, finishReason } of answers) {
      expect(message?.content).toEqual([]);
      expect(finishReason).toMatchObject({
        reason: Reason.CONTENT_FILTER,
        raw: "content_filter: PROHIBITED_CONTENT",
      });
    }
    expect(() => respond({ choices: [{ index: 0, finish_reason: "stop" }] })).toThrow(ServerError);
  });

  it("may be missing from a whole answer", () => {
    const response = respond({ choices: [{ message: { content: "hi" } }] });
    expect(response.finishReason).toMatchObject({ reason: Reason.OTHER, raw: "" });
  });
});
