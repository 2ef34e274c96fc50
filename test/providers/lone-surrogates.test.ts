/** Halves of surrogate pairs in texts of providers: a client of protobuf could not read a message in JSON with one. */
import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { expect, it, onTestFinished } from "vitest";
import { createAdapter, type WireApi } from "../../src/client/providers.ts";
import { toRequest } from "../../src/client/request-input.ts";
import { SDKError } from "../../src/core/errors.ts";
import { userMessage } from "../../src/core/message.ts";
import { StreamEventSchema } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import { serveHttp } from "../kit/http/servers.ts";

const HALF = "\ud800x";

const MESSAGE = { id: "m", type: "message", role: "assistant", content: [], model: HALF, usage: {} };

const url_citation = { type: HALF, title: HALF, url: HALF, file_id: HALF };

/** The events of an answer with a half in every text of its parts. */
const STREAMS: readonly (readonly [WireApi, readonly object[]])[] = [
  [
    "anthropic-messages",
    [
      { type: "message_start", message: MESSAGE },
      { type: "content_block_start", index: 0, content_block: { type: HALF } },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "a" } },
      {
        type: "content_block_delta",
        index: 1,
        delta: {
          type: "citations_delta",
          citation: { type: HALF, title: HALF, url: HALF, cited_text: HALF },
        },
      },
      { type: "content_block_stop", index: 1 },
      {
        type: "message_delta",
        delta: {
          stop_reason: "stop_sequence",
          stop_sequence: HALF,
          stop_details: { category: HALF, explanation: HALF },
        },
        usage: { output_tokens: 1 },
      },
      { type: "message_stop" },
    ],
  ],
  [
    "openai-responses",
    [
      { type: "response.created", response: { id: "r", model: HALF, status: "in_progress", output: [] } },
      { type: "response.output_item.done", output_index: 0, item: { id: "i", type: HALF } },
      {
        type: "response.output_item.done",
        output_index: 1,
        item: { id: "g", type: "image_generation_call", result: "AAAA", output_format: HALF },
      },
      {
        type: "response.output_item.done",
        output_index: 2,
        item: {
          id: "n",
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text: "a", annotations: [url_citation] }],
        },
      },
      { type: "response.completed", response: { id: "r", model: HALF, status: "completed", output: [] } },
    ],
  ],
  ["openai-responses", [{ type: "error", code: HALF, message: HALF }]],
  [
    "gemini",
    [
      {
        modelVersion: HALF,
        candidates: [
          {
            content: { role: "model", parts: [{ text: "a" }, { [HALF]: {} }] },
            finishReason: HALF,
            citationMetadata: { citationSources: [{ uri: HALF, title: HALF }] },
          },
        ],
      },
    ],
  ],
  [
    "openai-chat",
    [
      { id: "c", model: HALF, choices: [{ index: 0, delta: { content: [{ type: HALF }] } }] },
      { id: "c", model: HALF, choices: [{ index: 0, delta: {}, finish_reason: HALF }] },
    ],
  ],
];

it.each(STREAMS)("%s: every message with texts of the provider can be read", async (api, events) => {
  const server = await serveHttp((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    const end = api === "openai-chat" ? "data: [DONE]\n\n" : "";
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("") + end);
  });
  const baseUrl = `http://127.0.0.1:${server.port}${api.startsWith("openai") ? "/v1" : ""}`;
  const adapter = createAdapter("p", { api, apiKey: "key-0123456789", baseUrl });
  onTestFinished(() => adapter.close?.());
  const read: (JsonValue | string)[] = [];
  try {
    const request = toRequest({ model: "m", maxTokens: 9, messages: [userMessage("hi")] });
    for await (const event of adapter.stream(request)) read.push(toJson(StreamEventSchema, event));
  } catch (error) {
    if (!(error instanceof SDKError)) throw error;
    read.push(error.message);
  }
  const text = JSON.stringify(read);
  expect(text).toContain("\ufffdx");
  // The data of a provider's block is JSON, whose escapes are ASCII.
  expect(text.replaceAll("\\\\ud800", "")).not.toContain("\\ud800");
});
