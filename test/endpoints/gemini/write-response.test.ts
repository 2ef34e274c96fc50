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
  return JSON.parse(JSON.stringify(writeAnswer(response, "google")));
}

function writeParts(...content: Part[]): unknown {
  return write(content).candidates[0].content.parts;
}

describe("An answer of the Gemini API", () => {
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
