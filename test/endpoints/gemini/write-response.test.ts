/** Answers of the contract -> answers of the Gemini API, as far as recordings of providers have none of their kind. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ServerError } from "../../../src/core/errors.ts";
import { writeAnswer } from "../../../src/endpoints/gemini/write-response.ts";
import { type ContentPartSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import {
  FinishReason_Reason as Reason,
  type Response,
  ResponseSchema,
} from "../../../src/gen/outrigger/v1/response_pb.ts";

type Part = MessageInitShape<typeof ContentPartSchema>;

/** The fields of a response as a plain object. */
type ResponseInit = Exclude<MessageInitShape<typeof ResponseSchema>, Response>;

function write(content: Part[], changes: ResponseInit = {}) {
  const response = create(ResponseSchema, {
    inferenceId: "inf_1",
    model: "m",
    message: { role: Role.ASSISTANT, content },
    finishReason: { reason: Reason.STOP, raw: "STOP" },
    ...changes,
  });
  return JSON.parse(JSON.stringify(writeAnswer(response, { gemini: "google", includeThoughts: true })));
}

function writeParts(...content: Part[]): unknown {
  return write(content).candidates[0].content.parts;
}

describe("An answer of the Gemini API", () => {
  it("has what models of Gemini report without a unified form", () => {
    const candidate = { safetyRatings: [{ category: "HARM_CATEGORY_HARASSMENT" }], avgLogprobs: -0.5 };
    const promptFeedback = { safetyRatings: [] };
    const counts = { promptTokenCount: 9, trafficType: "ON_DEMAND", promptTokensDetails: [] };
    const metadata = { candidate, promptFeedback, usageMetadata: counts };
    const usage = { inputTokens: 3, outputTokens: 7, totalTokens: 10 };
    expect(write([], { usage, providerMetadataJson: JSON.stringify(metadata) })).toMatchObject({
      promptFeedback,
      candidates: [candidate],
      usageMetadata: { ...counts, promptTokenCount: 3, candidatesTokenCount: 7 },
    });
  });

  it("has the sources of recited texts as Gemini wrote them, with the pages of a search alongside", () => {
    const recited = { startIndex: 4, endIndex: 9, license: "mit" };
    const grounding = { groundingMetadata: { webSearchQueries: ["a"] } };
    const data: Part = {
      providerState: { dataJson: '{"of_answer":true}' },
      part: { case: "native", value: { provider: "google", dataJson: JSON.stringify(grounding) } },
    };
    const text: Part = {
      part: { case: "text", value: "abc" },
      citations: [
        { type: "citation", rawJson: JSON.stringify(recited) },
        { type: "web", url: "https://a.test" },
      ],
    };
    const pages = { uri: "https://a.test" };
    expect(write([text]).candidates[0].citationMetadata).toEqual({ citationSources: [recited, pages] });
    expect(write([text, data]).candidates[0]).toMatchObject({
      ...grounding,
      citationMetadata: { citationSources: [recited] },
    });
  });

  it("has a reason of Gemini that is new as it is, and of no other provider", () => {
    const finishReason = { reason: Reason.OTHER, raw: "FAKE_NEW_FINISH_REASON" };
    const getReason = (provider: string) => write([], { finishReason, provider }).candidates[0].finishReason;
    expect(getReason("google")).toBe("FAKE_NEW_FINISH_REASON");
    expect(getReason("openai")).toBe("STOP");
  });

  it("counts the tokens of the results of tools apart from the prompt, as Gemini does", () => {
    const usageMetadata = { promptTokenCount: 25, toolUsePromptTokenCount: 82, totalTokenCount: 178 };
    const usage = { inputTokens: 107, outputTokens: 71, totalTokens: 178, reasoningTokens: 38 };
    const answer = write([], { usage, providerMetadataJson: JSON.stringify({ usageMetadata }) });
    expect(answer.usageMetadata).toEqual({
      ...usageMetadata,
      candidatesTokenCount: 33,
      thoughtsTokenCount: 38,
    });
  });

  it("has the service tier of other providers in Google's words, and no other member of theirs", () => {
    const usage = { inputTokens: 3, outputTokens: 7, totalTokens: 10 };
    const tiers = { default: "standard", flex: "flex", priority: "priority", scale: undefined };
    for (const [service_tier, tier] of Object.entries(tiers)) {
      const metadata = { service_tier, system_fingerprint: "fp" };
      const answer = write([], { usage, providerMetadataJson: JSON.stringify(metadata) });
      expect(answer.usageMetadata.serviceTier).toBe(tier);
      expect(JSON.stringify(answer)).not.toContain("fp");
    }
  });

  it("names its model and its id, and has no parts if the model wrote nothing", () => {
    expect(write([])).toEqual({
      candidates: [{ content: { role: "model" }, finishReason: "STOP", index: 0 }],
      modelVersion: "m",
      responseId: "inf_1",
    });
  });

  it("has native parts of that API, and of no other provider", () => {
    const part = { executableCode: { language: "PYTHON", code: "1" } };
    const native = (provider: string, dataJson = JSON.stringify(part)): Part => ({
      part: { case: "native", value: { provider, kind: "executableCode", dataJson } },
    });
    expect(writeParts(native("google"), native("openai"), native("google", "[]"))).toEqual([part]);
  });

  it("has the data about an answer alongside its parts, if a model of the same API wrote it", () => {
    const data = { groundingMetadata: { webSearchQueries: ["a"] } };
    const providerState = { provider: "google", model: "m", dataJson: '{"of_answer":true}' };
    const value = { provider: "google", kind: "groundingMetadata", dataJson: JSON.stringify(data) };
    const citations = [
      { url: "https://a.test", title: "A" },
      { url: "https://b.test" },
      { title: "no page" },
    ];
    const text: Part = { part: { case: "text", value: "Hi" }, citations };
    const [grounded] = write([text, { part: { case: "native", value }, providerState }]).candidates;
    expect(grounded).toMatchObject({ content: { parts: [{ text: "Hi" }] }, ...data });
    expect(grounded.citationMetadata).toBeUndefined();
    expect(write([text]).candidates[0].citationMetadata).toEqual({
      citationSources: [{ uri: "https://a.test", title: "A" }, { uri: "https://b.test" }],
    });
  });

  it("has objects as the arguments of all calls", () => {
    const getArgs = (input: object) => {
      const call = { part: { case: "toolCall", value: { id: "c1", name: "f", input } } } as Part;
      return writeParts(call);
    };
    const toCall = (args: object) => [{ functionCall: { id: "c1", name: "f", args } }];
    expect(getArgs({ case: "argumentsJson", value: '{"a":1}' })).toEqual(toCall({ a: 1 }));
    expect(getArgs({ case: "argumentsJson", value: "" })).toEqual(toCall({}));
    expect(getArgs({})).toEqual(toCall({}));
    expect(getArgs({ case: "argumentsJson", value: '{"a' })).toEqual(toCall({ invalid_arguments: '{"a' }));
    expect(getArgs({ case: "text", value: "ls" })).toEqual(toCall({ input: "ls" }));
  });

  it("has media by their bytes or their address", () => {
    const image = (value: object) => ({ part: { case: "image", value } }) as Part;
    const bytes = { case: "data", value: Buffer.from("hi") };
    expect(writeParts(image({ source: bytes }), image({ source: bytes, mediaType: "image/webp" }))).toEqual([
      { inlineData: { mimeType: "image/png", data: "aGk=" } },
      { inlineData: { mimeType: "image/webp", data: "aGk=" } },
    ]);
    const url = "https://example.com/a.png";
    expect(writeParts(image({ mediaType: "image/png", source: { case: "url", value: url } }))).toEqual([
      { fileData: { mimeType: "image/png", fileUri: url } },
    ]);
  });

  it.each<[reason: Reason, raw: string, finishReason: string]>([
    [Reason.STOP, "stop", "STOP"],
    [Reason.LENGTH, "length", "MAX_TOKENS"],
    [Reason.TOOL_CALLS, "tool_calls", "STOP"],
    [Reason.CONTENT_FILTER, "refusal", "SAFETY"],
    ...[
      "CONTINUATION",
      "SAFETY",
      "RECITATION",
      "LANGUAGE",
      "OTHER",
      "BLOCKLIST",
      "PROHIBITED_CONTENT",
      "SPII",
      "MALFORMED_FUNCTION_CALL",
      "MALFORMED_RESPONSE",
      "MISSING_THOUGHT_SIGNATURE",
      "MODEL_ARMOR",
      "ESCALATION",
      "PUP_LIMITED_DISABLED",
      "IMAGE_SAFETY",
      "IMAGE_PROHIBITED_CONTENT",
      "IMAGE_RECITATION",
      "IMAGE_OTHER",
      "NO_IMAGE",
      "UNEXPECTED_TOOL_CALL",
      "TOO_MANY_TOOL_CALLS",
    ].map((raw): [Reason, string, string] => [Reason.ERROR, raw, raw]),
    // An answer that is not finished must not look finished.
    [Reason.OTHER, "pause_turn", "OTHER"],
    [Reason.OTHER, "eos", "STOP"],
  ])("ends for the reason %i, %j, as %s", (reason, raw, finishReason) => {
    expect(write([], { finishReason: { reason, raw } }).candidates[0]).toMatchObject({ finishReason });
  });

  it("is an error if the provider ended the answer with one that the API has no word for", () => {
    const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
    const failed = { finishReason: { reason: Reason.ERROR, raw: "boom" }, provider: "one", usage };
    expect(() => write([], failed)).toThrow(ServerError);
    expect(() => write([], failed)).toThrow(
      expect.objectContaining({
        provider: "one",
        outputStarted: true,
        usage: expect.objectContaining(usage),
      }),
    );
  });

  it("counts thoughts apart from the candidate, and only what is known", () => {
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
    const known = { promptTokenCount: 10, totalTokenCount: 15 };
    expect(write([], { usage }).usageMetadata).toEqual({ ...known, candidatesTokenCount: 5 });
    expect(write([], { usage: { ...usage, reasoningTokens: 4, cacheReadTokens: 3 } }).usageMetadata).toEqual({
      ...known,
      candidatesTokenCount: 1,
      thoughtsTokenCount: 4,
      cachedContentTokenCount: 3,
    });
    expect(write([], { usage: { ...usage, reasoningTokens: 6 } }).usageMetadata).toMatchObject({
      candidatesTokenCount: 0,
    });
  });
});
