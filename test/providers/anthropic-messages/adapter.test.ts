import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it, onTestFinished } from "vitest";
import { textOf, userMessage } from "../../../src/core/message.ts";
import { imagePart } from "../../../src/core/parts.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { ToolChoice_Mode as Mode, RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import {
  AnthropicAdapter,
  type AnthropicAdapterOptions,
} from "../../../src/providers/anthropic-messages/adapter.ts";
import { serveHttp } from "../../kit/http/servers.ts";

/** A request that the server received. */
interface ReceivedRequest {
  url: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

const ANSWER = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-opus-5",
  content: [{ type: "text", text: "Hello." }],
  stop_reason: "end_turn",
  usage: { input_tokens: 3, output_tokens: 2 },
};

/** An adapter, and the requests that its server has received. */
async function setUp(
  answer: (response: ServerResponse) => void,
  options: (base: string) => AnthropicAdapterOptions = (baseUrl) => ({ apiKey: "key-1", baseUrl }),
) {
  const received: ReceivedRequest[] = [];
  const { port } = await serveHttp((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      received.push({ url: request.url ?? "", headers: request.headers, body });
      answer(response);
    });
  });
  const adapter = new AnthropicAdapter(options(`http://127.0.0.1:${port}`));
  onTestFinished(() => adapter.close());
  return { adapter, received };
}

function whole(response: ServerResponse): void {
  response.setHeader("request-id", "req_1");
  response.setHeader("anthropic-ratelimit-requests-remaining", "9");
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(ANSWER));
}

function streamed(response: ServerResponse): void {
  response.setHeader("content-type", "text/event-stream");
  const { content, stop_reason, ...rest } = ANSWER;
  const events = [
    { type: "message_start", message: { ...rest, content: [] } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: content[0]?.text } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ];
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}

const request = (more: object = {}) =>
  create(RequestSchema, { model: "claude-opus-5", messages: [userMessage("hi")], ...more });

async function getEvents(adapter: AnthropicAdapter): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of adapter.stream(request())) events.push(event);
  return events;
}

describe("AnthropicAdapter", () => {
  it("requests a whole answer", async () => {
    const { adapter, received } = await setUp(whole);
    const response = await adapter.complete(request(), { inferenceId: "inf_1" });
    expect(textOf(response)).toBe("Hello.");
    expect(response).toMatchObject({
      provider: "anthropic",
      inferenceId: "inf_1",
      providerRequestId: "req_1",
      rateLimit: { requestsRemaining: 9 },
      usage: { inputTokens: 3, totalTokens: 5 },
    });
    expect(received).toMatchObject([
      {
        url: "/v1/messages",
        headers: {
          "x-api-key": "key-1",
          "anthropic-version": "2023-06-01",
          "content-type": "application/json",
          accept: "application/json",
        },
        body: { model: "claude-opus-5", messages: [{ role: "user" }] },
      },
    ]);
    expect(received[0]?.headers.authorization).toBeUndefined();
    expect(received[0]?.headers["anthropic-beta"]).toBeUndefined();
    expect(received[0]?.body.stream).toBeUndefined();
  });

  it("requests a stream", async () => {
    const { adapter, received } = await setUp(streamed);
    const events = await getEvents(adapter);
    expect(events.map(({ event }) => event.case)).toEqual([
      "streamStart",
      "textStart",
      "textDelta",
      "textEnd",
      "finish",
    ]);
    expect(received[0]).toMatchObject({ headers: { accept: "text/event-stream" }, body: { stream: true } });
  });

  it("accepts a base URL with a version, a token, a name and headers, and joins the betas of headers and request", async () => {
    const { adapter, received } = await setUp(whole, (base) => ({
      authToken: "token-1",
      baseUrl: `${base}/proxy/v1/`,
      name: "claude",
      apiVersion: "2026-10-21",
      defaultHeaders: { "X-Team": "blue", "Anthropic-Beta": "one-2026, two-2026" },
    }));
    const providerOptionsJson = { claude: '{"beta_headers":["two-2026","three-2026"]}' };
    const response = await adapter.complete(request({ providerOptionsJson, temperature: 0 }));
    expect(response).toMatchObject({ provider: "claude", warnings: [{ field: "temperature" }] });
    expect(received[0]).toMatchObject({
      url: "/proxy/v1/messages",
      headers: {
        authorization: "Bearer token-1",
        "anthropic-version": "2026-10-21",
        "anthropic-beta": "one-2026,two-2026,three-2026",
        "x-team": "blue",
      },
    });
    expect(received[0]?.headers["x-api-key"]).toBeUndefined();
  });

  it("throws the error of a failed answer, for a stream before its first event", async () => {
    const { adapter } = await setUp((response) => {
      response.statusCode = 529;
      response.setHeader("request-id", "req_2");
      response.end('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}');
    });
    const failure = { kind: ErrorKind.SERVER, retryable: true, httpStatusCode: 529, requestId: "req_2" };
    await expect(adapter.complete(request())).rejects.toMatchObject(failure);
    await expect(getEvents(adapter)).rejects.toMatchObject(failure);
  });

  it("reads files only from allowed folders", async () => {
    const folder = await mkdtemp(join(tmpdir(), "anthropic-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, "picture.gif");
    await writeFile(path, "GIF89a");
    const shown = request({ messages: [userMessage(imagePart(path))] });
    const withoutFolder = await setUp(whole);
    await expect(withoutFolder.adapter.complete(shown)).rejects.toThrow("messages[0].content[0].image.url");
    const { adapter, received } = await setUp(whole, (baseUrl) => ({
      apiKey: "k",
      baseUrl,
      allowFilesUnder: [folder],
    }));
    await adapter.complete(shown);
    expect(received[0]?.body.messages).toMatchObject([
      { content: [{ type: "image", source: { type: "base64", media_type: "image/gif" } }] },
    ]);
  });

  it("requires credentials, unless a base URL is given", async () => {
    expect(() => new AnthropicAdapter({})).toThrow(
      'provider "anthropic": expected an API key or a token, found neither',
    );
    expect(() => new AnthropicAdapter({ apiKey: "" })).toThrow("expected an API key, found an empty one");
    expect(() => new AnthropicAdapter({ authToken: "", name: "a" })).toThrow(
      'provider "a": expected a token',
    );
    const { adapter, received } = await setUp(whole, (baseUrl) => ({ baseUrl }));
    await adapter.complete(request());
    expect(received[0]?.headers).not.toHaveProperty("x-api-key");
  });

  it("reports which models can be forced to call a tool", async () => {
    const { adapter } = await setUp(whole);
    const modes = [Mode.AUTO, Mode.NONE, Mode.REQUIRED, Mode.NAMED];
    const supported = (model: string) => modes.map((mode) => adapter.supportsToolChoice(mode, model));
    expect(supported("claude-opus-5")).toEqual([true, true, true, true]);
    expect(supported("claude-sonnet-4-5")).toEqual([true, true, true, true]);
    expect(supported("claude-opus-5-5")).toEqual([true, true, false, false]);
  });

  it("reports which models are held to a JSON schema", async () => {
    const { adapter } = await setUp(whole);
    expect(adapter.supportsJsonSchema("claude-opus-5")).toBe(true);
    expect(adapter.supportsJsonSchema("claude-3-5-haiku-20241022")).toBe(false);
  });
});
