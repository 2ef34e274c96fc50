/**
 * Answers of the contract -> messages of Anthropic's API, as far as recordings of providers have none of their kind.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ServerError } from "../../../src/core/errors.ts";
import { writeMessage } from "../../../src/endpoints/messages/write-response.ts";
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
    finishReason: { reason: Reason.STOP, raw: "end_turn" },
    ...changes,
  });
  return JSON.parse(JSON.stringify(writeMessage(response, "claude")));
}

/** The blocks but the last one, which carries what the other blocks cannot hold. */
function writeBlocks(...content: Part[]): object[] {
  return write(content).content.filter(({ type }: { type: string }) => type !== "redacted_thinking");
}

const native = (provider: string, dataJson: string): Part => ({
  part: { case: "native", value: { provider, kind: "server_tool_use", dataJson } },
});

describe("A message of Anthropic's API", () => {
  it("has what models of Anthropic report without a unified form, also if it was stored in between", () => {
    const counts = {
      input_tokens: 9,
      service_tier: "standard",
      inference_geo: "us",
      cache_creation: { a: 1 },
    };
    const stop_details = { type: "refusal", category: "cyber", explanation: null };
    const metadata = { usage: counts, stop_details, context_management: { applied_edits: [] } };
    const usage = { inputTokens: 3, outputTokens: 7, totalTokens: 10 };
    expect(write([], { usage, providerMetadataJson: JSON.stringify(metadata) })).toMatchObject({
      stop_details,
      context_management: { applied_edits: [] },
      usage: { ...counts, input_tokens: 3, output_tokens: 7 },
    });
  });

  it("names the container that a model of Anthropic used, so that the next request can name it", () => {
    const container = { id: "container_1", expires_at: "2026-01-01T00:00:00Z" };
    const part = (provider: string): Part => ({
      part: { case: "native", value: { provider, kind: "container", dataJson: JSON.stringify(container) } },
    });
    expect(write([part("claude")]).container).toEqual(container);
    expect(write([part("other")])).not.toHaveProperty("container");
  });

  it("has the service tier of other providers in Anthropic's words, and no other member of theirs", () => {
    const tiers = { default: "standard", priority: "priority", flex: undefined };
    for (const [service_tier, tier] of Object.entries(tiers)) {
      const metadata = { service_tier, system_fingerprint: "fp", usage: { prompt_tokens: 1, speed_ms: 2 } };
      const message = write([], { providerMetadataJson: JSON.stringify(metadata) });
      expect(message.usage.service_tier).toBe(tier);
      expect(JSON.stringify(message)).not.toMatch(/fp|speed_ms|prompt_tokens/);
      expect(message.stop_details).toBeNull();
    }
  });

  it("has native blocks of that API, and of no other provider", () => {
    const block = { type: "server_tool_use", id: "s1", name: "web_search", input: {} };
    expect(writeBlocks(native("claude", JSON.stringify(block)))).toEqual([block]);
    expect(writeBlocks(native("openai", JSON.stringify(block)))).toEqual([]);
    expect(writeBlocks(native("claude", '{"id":"s1"}'))).toEqual([]);
    expect(writeBlocks(native("claude", "[]"))).toEqual([]);
  });

  it("has citations as models of Anthropic write them, and those of others as results of a search", () => {
    const url = { type: "web", url: "https://a.test", title: "A", citedText: "a", rawJson: '{"segment":{}}' };
    const file = {
      type: "file_citation",
      sourceId: "file_1",
      title: "b.txt",
      rawJson: '{"type":"file_citation"}',
    };
    const page = { type: "page_location", cited_text: "p", document_index: 0, hue: 1 };
    const own = { type: "page_location", title: "P", rawJson: JSON.stringify(page) };
    const text: Part = { citations: [url, file, own], part: { case: "text", value: "abc" } };
    expect(writeBlocks(text)).toMatchObject([
      {
        citations: [
          { type: "web_search_result_location", url: "https://a.test", title: "A", cited_text: "a" },
          { type: "search_result_location", source: "file_1", title: "b.txt", search_result_index: 1 },
          page,
        ],
      },
    ]);
  });

  it("has no block for a text without characters, and carries its signature", () => {
    const dataJson = JSON.stringify({ part: { thoughtSignature: "c2ln" } });
    const state = { provider: "gemini", model: "m", dataJson };
    const texts: Part[] = [
      { part: { case: "text", value: "abc" } },
      { part: { case: "text", value: "" }, providerState: state },
    ];
    expect(write(texts).content).toMatchObject([{ text: "abc" }, { type: "redacted_thinking" }]);
  });

  it("has objects as the inputs of all calls", () => {
    const writeInput = (input: object) => {
      const call = { part: { case: "toolCall", value: { id: "c1", name: "f", input } } } as Part;
      return writeBlocks(call);
    };
    const block = { type: "tool_use", id: "c1", name: "f" };
    expect(writeInput({ case: "argumentsJson", value: '{"a":1}' })).toEqual([{ ...block, input: { a: 1 } }]);
    expect(writeInput({ case: "argumentsJson", value: "" })).toEqual([{ ...block, input: {} }]);
    expect(writeInput({ case: "argumentsJson", value: '{"a' })).toEqual([
      { ...block, input: { invalid_arguments: '{"a' } },
    ]);
    expect(writeInput({ case: "text", value: "ls" })).toEqual([{ ...block, input: { input: "ls" } }]);
  });

  it("has images by their bytes or their address", () => {
    const image = (value: object) => ({ part: { case: "image", value } }) as Part;
    const bytes = { case: "data", value: Buffer.from("hi") };
    const source = { type: "base64", media_type: "image/png", data: "aGk=" };
    expect(writeBlocks(image({ source: bytes }))).toEqual([{ type: "image", source }]);
    expect(writeBlocks(image({ source: bytes, mediaType: "image/webp" }))).toEqual([
      { type: "image", source: { ...source, media_type: "image/webp" } },
    ]);
    const url = "https://example.com/a.png";
    expect(writeBlocks(image({ source: { case: "url", value: url } }))).toEqual([
      { type: "image", source: { type: "url", url } },
    ]);
  });

  it.each([
    [Reason.STOP, "stop", "", "end_turn"],
    [Reason.STOP, "stop", "END", "stop_sequence"],
    [Reason.LENGTH, "length", "", "max_tokens"],
    [Reason.TOOL_CALLS, "tool_calls", "", "end_turn"],
    [Reason.CONTENT_FILTER, "SAFETY", "", "refusal"],
    [Reason.OTHER, "pause_turn", "", "pause_turn"],
    [Reason.OTHER, "compaction", "", "compaction"],
    // An answer that is not finished must not look finished.
    [Reason.OTHER, "LANGUAGE", "", "max_tokens"],
    [Reason.OTHER, "eos", "", "end_turn"],
    [Reason.LENGTH, "model_context_window_exceeded", "", "model_context_window_exceeded"],
  ])("stops for the reason %i, %j, with the sequence %j, by %s", (reason, raw, stopSequence, stop_reason) => {
    const message = write([], { finishReason: { reason, raw, stopSequence } });
    expect(message).toMatchObject({ stop_reason, stop_sequence: stopSequence || null });
  });

  it("waits for results only if it has calls", () => {
    const finishReason = { reason: Reason.TOOL_CALLS, raw: "completed" };
    const call: Part = { part: { case: "toolCall", value: { id: "c1", name: "f" } } };
    expect(write([call], { finishReason })).toMatchObject({ stop_reason: "tool_use" });
    // An approval that the API has no form for: the answer must not look finished.
    expect(write([native("openai", "{}")], { finishReason })).toMatchObject({ stop_reason: "max_tokens" });
  });

  it("is an error if the provider ended the answer with one, after output that was paid", () => {
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

  it("counts cached tokens separately from the others, whose count is never negative", () => {
    const counts = { outputTokens: 5, cacheReadTokens: 3, cacheWriteTokens: 2 };
    expect(write([], { usage: { ...counts, inputTokens: 10, reasoningTokens: 4 } }).usage).toEqual({
      input_tokens: 5,
      cache_creation_input_tokens: 2,
      cache_read_input_tokens: 3,
      output_tokens: 5,
      output_tokens_details: { thinking_tokens: 4 },
    });
    expect(write([], { usage: { ...counts, inputTokens: 4 } }).usage).toMatchObject({ input_tokens: 0 });
    expect(write([]).usage).toMatchObject({ input_tokens: 0, output_tokens: 0 });
  });
});
