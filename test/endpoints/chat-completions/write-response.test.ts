/** Answers of the contract -> chat completions, as far as recordings of providers have none of their kind. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ServerError } from "../../../src/core/errors.ts";
import { ChunkWriter } from "../../../src/endpoints/chat-completions/write-events.ts";
import { writeCompletion } from "../../../src/endpoints/chat-completions/write-response.ts";
import { CitationSchema, ContentPartSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import {
  FinishReason_Reason as Reason,
  type Response,
  ResponseSchema,
} from "../../../src/gen/outrigger/v1/response_pb.ts";
import { StreamEventSchema } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { eventsIn } from "../support/events-in.ts";

/** A delta with annotations. */
interface Annotated {
  readonly annotations?: readonly object[];
}

type Part = MessageInitShape<typeof ContentPartSchema>;

/** The fields of a response as a plain object. */
type ResponseInit = Exclude<MessageInitShape<typeof ResponseSchema>, Response>;

function write(content: Part[], changes: ResponseInit = {}) {
  const response = create(ResponseSchema, {
    inferenceId: "inf_1",
    model: "m",
    createdAt: { seconds: 7n },
    message: { role: Role.ASSISTANT, content },
    finishReason: { reason: Reason.STOP, raw: "stop" },
    ...changes,
  });
  return JSON.parse(JSON.stringify(writeCompletion(response, new Set(["custom"]))));
}

const text = (value: string, refusal = false): Part => ({ part: { case: "text", value }, refusal });

describe("What a provider reports alongside its answer", () => {
  const timings = { prompt_ms: 1.5 };
  const details = { audio_tokens: 2, cached_tokens: 9 };
  const metadata = {
    service_tier: "flex",
    timings,
    choice: { content_filter_results: {}, index: 3 },
    usage: { prompt_tokens: 1, queue_time: 0.5, prompt_tokens_details: details },
    id: "never",
  };
  const usage = { inputTokens: 3, outputTokens: 7, totalTokens: 10, cacheReadTokens: 1 };
  const facts: ResponseInit = { usage, providerMetadataJson: JSON.stringify(metadata) };
  const counts = {
    queue_time: 0.5,
    prompt_tokens: 3,
    completion_tokens: 7,
    total_tokens: 10,
    prompt_tokens_details: { audio_tokens: 2, cached_tokens: 1 },
  };

  it("is in the places that clients of its server know", () => {
    const completion = write([text("a")], facts);
    expect(completion).toMatchObject({ id: "chatcmpl-inf_1", service_tier: "flex", timings, usage: counts });
    expect(completion.choices).toMatchObject([{ index: 0, content_filter_results: {} }]);
    expect(completion).not.toHaveProperty("choice");
  });

  it("has the reason of the model's maker if a gateway names it", () => {
    const providerMetadataJson = '{"choice":{"native_finish_reason":"tool_use"}}';
    expect(write([text("a")], { providerMetadataJson }).choices).toMatchObject([
      { finish_reason: "stop", native_finish_reason: "tool_use" },
    ]);
  });

  it.each([
    ['{"service_tier":"standard"}', "default"],
    ['{"usage":{"input_tokens":1,"service_tier":"priority"}}', "priority"],
    ['{"usageMetadata":{"serviceTier":"flex"}}', "flex"],
    ['{"service_tier":"on_demand"}', undefined],
  ])("has the tier of %s in OpenAI's words", (providerMetadataJson, tier) => {
    expect(write([text("a")], { providerMetadataJson }).service_tier).toBe(tier);
  });

  it("is the refusal of the message if it explains one that the model did not put into words", () => {
    const explained = (explanation: unknown): ResponseInit => ({
      finishReason: { reason: Reason.CONTENT_FILTER, raw: "refusal" },
      providerMetadataJson: JSON.stringify({ stop_details: { type: "refusal", explanation } }),
    });
    const getRefusal = (content: Part[], init: ResponseInit) =>
      write(content, init).choices[0].message.refusal;
    expect(getRefusal([], explained("It is harmful."))).toBe("It is harmful.");
    expect(getRefusal([text("No.", true)], explained("It is harmful."))).toBe("No.");
    expect(getRefusal([], explained(null))).toBeNull();
    expect(
      getRefusal([], { ...explained("It is harmful."), finishReason: { reason: Reason.STOP } }),
    ).toBeNull();
    const response = { inferenceId: "inf_1", ...explained("It is harmful.") };
    const event = create(StreamEventSchema, { event: { case: "finish", value: { response } } });
    const written = new ChunkWriter(false, new Set()).write([event]);
    expect(written).toContain('"finish_reason":null,"delta":{"refusal":"It is harmful."}');
  });

  it("is in the last chunks of a stream", () => {
    const response = { inferenceId: "inf_1", finishReason: { reason: Reason.STOP, raw: "stop" }, ...facts };
    const finish = { case: "finish" as const, value: { response, usage } };
    const written = new ChunkWriter(true, new Set()).write([create(StreamEventSchema, { event: finish })]);
    const [last, counted] = written.split("\n\n").map((event) => event.slice("data: ".length));
    // The head, which the beginning of the stream writes, is not there.
    expect(JSON.parse(`{${last?.slice(1)}`)).toMatchObject({
      service_tier: "flex",
      timings,
      choices: [{ index: 0, finish_reason: "stop", content_filter_results: {} }],
    });
    expect(JSON.parse(`{${counted?.slice(1)}`)).toMatchObject({ usage: counts });
  });
});

describe("A chat completion", () => {
  it("has the texts and the refusals of an answer apart, each joined, and null for none", () => {
    const writeMessage = (content: Part[]) => write(content).choices[0].message;
    expect(writeMessage([text("I can"), text("not", true), text("."), text(" do", true)])).toEqual({
      role: "assistant",
      content: "I can.",
      refusal: "not do",
    });
    expect(writeMessage([text("No.", true)])).toEqual({ role: "assistant", content: null, refusal: "No." });
    expect(writeMessage([text("")])).toEqual({ role: "assistant", content: "", refusal: null });
    expect(writeMessage([])).toEqual({ role: "assistant", content: null, refusal: null });
  });

  it("has annotations that count the whole content, also in a stream", () => {
    const cite = (value: string, citation: MessageInitShape<typeof CitationSchema>) => ({
      part: { case: "text" as const, value },
      citations: [create(CitationSchema, citation)],
    });
    const file = { type: "container_file_citation", file_id: "f", start_index: 0, end_index: 3 };
    const parts = [
      { part: { case: "text" as const, value: "👋🏽 " } },
      { part: { case: "text" as const, value: "No." }, refusal: true },
      cite("xyz", { type: "page", url: "https://a", title: "A", startIndex: 1, endIndex: 3 }),
      cite("abc", { type: file.type, rawJson: JSON.stringify(file) }),
      cite("!", { type: "page", url: "https://b" }),
    ].map((part) => create(ContentPartSchema, part));
    const { type: _, ...facts } = file;
    const expected = [
      { type: "url_citation", url_citation: { url: "https://a", title: "A", start_index: 4, end_index: 6 } },
      { type: file.type, [file.type]: { ...facts, start_index: 6, end_index: 9 } },
      { type: "url_citation", url_citation: { url: "https://b", title: "", start_index: 9, end_index: 10 } },
    ];
    expect(write(parts).choices[0].message.annotations).toEqual(expected);
    expect(write([text("a")]).choices[0].message).not.toHaveProperty("annotations");

    const events = parts.flatMap(({ part, citations, refusal }, partIndex) => {
      const value = part.case === "text" ? part.value : "";
      return [
        { case: "textStart" as const, value: { partIndex, refusal } },
        { case: "textDelta" as const, value: { partIndex, delta: value } },
        { case: "textEnd" as const, value: { partIndex, text: value, citations } },
      ];
    });
    const start = { case: "streamStart" as const, value: {} };
    const batch = [start, ...events].map((event) => create(StreamEventSchema, { event }));
    const chunks = eventsIn(new ChunkWriter(false, new Set()).write(batch));
    const deltas = chunks.flatMap(({ choices }) =>
      (choices as { delta: Annotated }[]).map(({ delta }) => delta),
    );
    expect(deltas.flatMap(({ annotations = [] }) => annotations)).toEqual(expected);
  });

  it("has the log probabilities of all its texts, and null if there are none", () => {
    const withLogprobs = (value: string, logprobs: object[]): Part => ({
      part: { case: "text", value },
      providerState: { provider: "p", model: "m", dataJson: JSON.stringify({ logprobs }) },
    });
    const [a, b] = ["a", "b"].map((token) => ({ token, logprob: -1, top_logprobs: [] }));
    const parts = [withLogprobs("a", [a ?? {}]), withLogprobs("b", [b ?? {}])];
    expect(write(parts).choices[0].logprobs).toEqual({ content: [a, b], refusal: null });
    expect(write([text("a"), withLogprobs("b", [])]).choices[0].logprobs).toBeNull();
  });

  it("has the calls of function tools and custom tools, in their forms", () => {
    const call = (id: string, input: object, name = "f"): Part =>
      ({ part: { case: "toolCall", value: { id, name, input } } }) as Part;
    const parts = [
      call("c1", { case: "argumentsJson", value: '{"a":1}' }),
      call("c2", { case: "text", value: "ls" }),
      call("c3", {}),
      call("c4", { case: "argumentsJson", value: '{"input":"pwd"}' }, "custom"),
      call("c5", { case: "argumentsJson", value: '{"input":3}' }, "custom"),
    ];
    expect(write(parts).choices[0].message.tool_calls).toEqual([
      { id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } },
      { id: "c2", type: "custom", custom: { name: "f", input: "ls" } },
      { id: "c3", type: "function", function: { name: "f", arguments: "" } },
      { id: "c4", type: "custom", custom: { name: "custom", input: "pwd" } },
      { id: "c5", type: "custom", custom: { name: "custom", input: '{"input":3}' } },
    ]);
  });

  it.each([
    ["the signature that Gemini gave it", { part: { thoughtSignature: "s" } }, "s"],
    [
      "the fields of a server that speaks Chat Completions itself",
      { call: { extra_content: { google: { thought_signature: "t" } } } },
      "t",
    ],
    ["nothing if its provider gave it nothing", { call: { index: 0 } }, undefined],
  ])("has in extra_content of a call %s", (_what, data, signature) => {
    const providerState = { provider: "p", model: "m", dataJson: JSON.stringify(data) };
    const value = { id: "c1", name: "f", input: { case: "argumentsJson", value: "{}" } } as const;
    const [call] = write([{ part: { case: "toolCall", value }, providerState }]).choices[0].message
      .tool_calls;
    const extras = signature === undefined ? undefined : { google: { thought_signature: signature } };
    expect(call.extra_content).toEqual(extras);
  });

  it.each([
    [Reason.STOP, "stop", "stop"],
    [Reason.LENGTH, "max_tokens", "length"],
    [Reason.TOOL_CALLS, "tool_use", "stop"],
    [Reason.CONTENT_FILTER, "SAFETY", "content_filter"],
    // Answers that are not finished must not look finished.
    [Reason.OTHER, "pause_turn", "length"],
    [Reason.OTHER, "eos", "stop"],
    [Reason.UNSPECIFIED, "", "stop"],
  ])("ends for the reason %i, %j, as %s", (reason, raw, finish_reason) => {
    const [choice] = write([text("Half")], { finishReason: { reason, raw } }).choices;
    expect(choice).toMatchObject({ finish_reason, native_finish_reason: raw });
  });

  it("waits for results only if it has calls", () => {
    const finishReason = { reason: Reason.TOOL_CALLS, raw: "completed" };
    const call: Part = { part: { case: "toolCall", value: { id: "c1", name: "f" } } };
    expect(write([call], { finishReason }).choices).toMatchObject([{ finish_reason: "tool_calls" }]);
    const approval: Part = { part: { case: "native", value: { provider: "openai", dataJson: "{}" } } };
    expect(write([approval], { finishReason }).choices).toMatchObject([{ finish_reason: "length" }]);
  });

  it("is an error if the provider ended the answer with one, after output that was paid", () => {
    const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
    const failed = { finishReason: { reason: Reason.ERROR, raw: "boom" }, provider: "one", usage };
    expect(() => write([text("Half")], failed)).toThrow(ServerError);
    expect(() => write([text("Half")], failed)).toThrow(
      expect.objectContaining({
        provider: "one",
        outputStarted: true,
        usage: expect.objectContaining(usage),
      }),
    );
  });

  it("has the details of the usage that the provider reports, and no others", () => {
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
    const counts = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    expect(write([], { usage }).usage).toEqual(counts);
    const detailed = { ...usage, cacheReadTokens: 0, cacheWriteTokens: 2, reasoningTokens: 3 };
    expect(write([], { usage: detailed }).usage).toEqual({
      ...counts,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 3 },
    });
    expect(write([])).not.toHaveProperty("usage");
  });
});
