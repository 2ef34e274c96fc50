/** Token counts that cannot be true, which every wire API may get from its server. */
import { text } from "node:stream/consumers";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createAdapter, type WireApi, wireApis } from "../../src/client/providers.ts";
import { userMessage } from "../../src/core/message.ts";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import { UsageSchema } from "../../src/gen/outrigger/v1/usage_pb.ts";
import { serveHttp } from "../kit/http/servers.ts";

/** A whole answer of each wire API with the same number as all of its counts. */
const ANSWERS: Readonly<Record<WireApi, (count: number) => object>> = {
  "openai-responses": (count) => ({
    id: "resp_1",
    object: "response",
    status: "completed",
    model: "m",
    output: [
      { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "a" }] },
    ],
    usage: {
      input_tokens: count,
      output_tokens: count,
      total_tokens: count,
      input_tokens_details: { cached_tokens: count },
      output_tokens_details: { reasoning_tokens: count },
    },
  }),
  "anthropic-messages": (count) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [{ type: "text", text: "a" }],
    stop_reason: "end_turn",
    usage: {
      input_tokens: count,
      output_tokens: count,
      cache_read_input_tokens: count,
      cache_creation_input_tokens: count,
    },
  }),
  gemini: (count) => ({
    responseId: "r",
    modelVersion: "m",
    candidates: [{ content: { role: "model", parts: [{ text: "a" }] }, finishReason: "STOP" }],
    usageMetadata: {
      promptTokenCount: count,
      candidatesTokenCount: count,
      thoughtsTokenCount: count,
      toolUsePromptTokenCount: count,
      totalTokenCount: count,
    },
  }),
  "openai-chat": (count) => ({
    id: "c",
    object: "chat.completion",
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }],
    usage: {
      prompt_tokens: count,
      completion_tokens: count,
      total_tokens: count,
      completion_tokens_details: { reasoning_tokens: count },
    },
  }),
};

describe.each(wireApis)("an answer over %s", (api) => {
  it.each([-5, -(2 ** 31), 2 ** 30, 2 ** 31 - 1, 2 ** 40, 1.5])(
    "that counts %d tokens is an answer, without a count that is negative or cannot be sent",
    async (count) => {
      const { port } = await serveHttp(async (request, response) => {
        await text(request);
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify(ANSWERS[api](count)));
      });
      const settings = { api, apiKey: "k".repeat(12), baseUrl: `http://127.0.0.1:${port}` };
      const adapter = createAdapter("p", settings);
      const request = create(RequestSchema, { model: "m", messages: [userMessage("hi")] });
      const { usage, message } = await adapter.complete(request);
      await adapter.close?.();
      expect(message?.content).toMatchObject([{ part: { case: "text", value: "a" } }]);
      const known = create(UsageSchema, usage);
      expect(Math.min(known.inputTokens, known.outputTokens, known.totalTokens)).toBeGreaterThanOrEqual(0);
      expect(known.reasoningTokens ?? 0).toBeGreaterThanOrEqual(0);
      expect(() => toBinary(UsageSchema, known)).not.toThrow();
    },
  );
});
