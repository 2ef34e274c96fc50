import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it, onTestFinished } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { textOf, userMessage } from "../../../src/core/message.ts";
import { imagePart } from "../../../src/core/parts.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { ToolChoice_Mode as Mode, RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import {
  OpenAIChatAdapter,
  type OpenAIChatAdapterOptions,
} from "../../../src/providers/openai-chat/adapter.ts";
import { serveHttp } from "../../kit/http/servers.ts";
import { type RequestInit, toMessages } from "./support.ts";

/** A request that the server received. */
interface ReceivedRequest {
  url: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

const ANSWER = {
  id: "chat_1",
  object: "chat.completion",
  model: "model-1",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};

/** An adapter, and a server that answers it and records the requests. */
async function setUp(
  answer: (response: ServerResponse) => void,
  options: Partial<OpenAIChatAdapterOptions> = {},
) {
  const requests: ReceivedRequest[] = [];
  const { port, sockets } = await serveHttp((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      requests.push({ url: request.url ?? "", headers: request.headers, body });
      answer(response);
    });
  });
  const adapter = new OpenAIChatAdapter({ baseUrl: `http://127.0.0.1:${port}/v1/`, ...options });
  onTestFinished(() => adapter.close());
  return { adapter, requests, sockets };
}

function whole(response: ServerResponse): void {
  response.setHeader("x-request-id", "req_1");
  response.setHeader("x-ratelimit-remaining-requests", "9");
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(ANSWER));
}

function streamed(response: ServerResponse): void {
  response.setHeader("content-type", "text/event-stream");
  const { choices: _, usage, ...rest } = ANSWER;
  const chunk = (delta: object, finish: string | null, more: object = {}) =>
    `data: ${JSON.stringify({ ...rest, choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
  response.write(": keep-alive\n\n");
  response.write(chunk({ content: "Hello." }, null));
  response.write(chunk({}, "stop", { usage }));
  response.end("data: [DONE]\n\n");
}

const request = (more: RequestInit = {}) =>
  create(RequestSchema, { model: "model-1", messages: [userMessage("hi")], ...more });

async function getEvents(adapter: OpenAIChatAdapter): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of adapter.stream(request())) events.push(event);
  return events;
}

describe("the adapter for OpenAI-compatible servers", () => {
  it("requests a whole answer", async () => {
    const { adapter, requests } = await setUp(whole, { apiKey: "key-1", defaultHeaders: { "x-title": "t" } });
    const response = await adapter.complete(request());
    expect(textOf(response)).toBe("Hello.");
    expect(response).toMatchObject({
      id: "chat_1",
      provider: "compatible",
      providerRequestId: "req_1",
      rateLimit: { requestsRemaining: 9 },
      usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    });
    expect(requests).toHaveLength(1);
    expect(requests[0]?.url).toBe("/v1/chat/completions");
    expect(requests[0]?.body).toEqual({ model: "model-1", messages: [{ role: "user", content: "hi" }] });
    expect(requests[0]?.headers).toMatchObject({
      authorization: "Bearer key-1",
      accept: "application/json",
      "content-type": "application/json",
      "x-title": "t",
    });
  });

  it("requests a stream", async () => {
    const { adapter, requests } = await setUp(streamed);
    const events = await getEvents(adapter);
    expect(events.map(({ event }) => event.case)).toEqual([
      "streamStart",
      "textStart",
      "textDelta",
      "textEnd",
      "finish",
    ]);
    expect(requests[0]?.headers.accept).toBe("text/event-stream");
    expect(requests[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  it("sends no authorization header without a key", async () => {
    const { adapter, requests } = await setUp(whole);
    await adapter.complete(request());
    expect(requests[0]?.headers).not.toHaveProperty("authorization");
  });

  it("sends key and query as Azure expects them, and never a key in the URL", async () => {
    const options = { apiKey: "key-1", profile: "azure", query: { "api-version": "2026-10-01" } };
    const { adapter, requests } = await setUp(whole, options);
    await adapter.complete(request());
    expect(requests[0]?.url).toBe("/v1/chat/completions?api-version=2026-10-01");
    expect(requests[0]?.headers["api-key"]).toBe("key-1");
    expect(requests[0]?.headers).not.toHaveProperty("authorization");
  });

  it("follows its profile", async () => {
    const { adapter, requests } = await setUp(whole, {
      profile: { maxTokensField: "max_completion_tokens" },
    });
    await adapter.complete(request({ maxTokens: 5 }));
    expect(requests[0]?.body).toMatchObject({ max_completion_tokens: 5 });
    expect(adapter.supportsToolChoice(Mode.REQUIRED, "model-1")).toBe(true);
    const ollama = new OpenAIChatAdapter({ baseUrl: "http://localhost:11434/v1", name: "ollama" });
    onTestFinished(() => ollama.close());
    expect(ollama.name).toBe("ollama");
    expect(ollama.supportsToolChoice(Mode.REQUIRED, "model-1")).toBe(false);
    expect(ollama.supportsJsonSchema("model-1")).toBe(true);
    const deepseek = new OpenAIChatAdapter({
      baseUrl: "https://api.deepseek.com",
      name: "deepseek",
      apiKey: "k",
    });
    onTestFinished(() => deepseek.close());
    expect(deepseek.supportsJsonSchema("deepseek-chat")).toBe(false);
  });

  it("reports the kind of a failure, before a stream and inside it", async () => {
    const { adapter } = await setUp((response) => {
      response.statusCode = 429;
      response.setHeader("retry-after", "3");
      response.end('{"error":{"message":"slow down"}}');
    });
    const expected = { kind: ErrorKind.RATE_LIMIT, httpStatusCode: 429, retryAfter: 3 };
    await expect(adapter.complete(request())).rejects.toMatchObject(expected);
    await expect(getEvents(adapter)).rejects.toMatchObject(expected);
  });

  it("closes the connection at once when its caller cancels", async () => {
    const { adapter, sockets } = await setUp((response) => {
      response.setHeader("content-type", "text/event-stream");
      response.write('data: {"model":"m","choices":[{"delta":{"content":"a"}}]}\n\n');
    });
    for await (const { event } of adapter.stream(request())) if (event.case === "textDelta") break;
    const [socket] = sockets;
    if (socket !== undefined && !socket.destroyed)
      await new Promise((resolve) => socket.once("close", resolve));
    expect(socket?.destroyed).toBe(true);
  });

  it("reads files only under the allowed folders", async () => {
    const folder = await mkdtemp(join(tmpdir(), "openai-chat-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, "a.png");
    await writeFile(path, new Uint8Array([1, 2, 3]));
    const message = userMessage([imagePart(path)]);
    const allowed = await setUp(whole, { allowFilesUnder: [folder] });
    await allowed.adapter.complete(request({ messages: [message] }));
    expect(toMessages(allowed.requests[0]?.body ?? {})[0]?.content).toEqual([
      { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
    ]);
    const refused = await setUp(whole);
    await expect(refused.adapter.complete(request({ messages: [message] }))).rejects.toThrow(
      "messages[0].content[0].image.url",
    );
    expect(refused.requests).toEqual([]);
  });

  it("throws ConfigurationError for an invalid configuration", () => {
    const make = (options: OpenAIChatAdapterOptions) => () => new OpenAIChatAdapter(options);
    expect(make({ baseUrl: "http://x.example", apiKey: "" })).toThrow(ConfigurationError);
    expect(make({ baseUrl: "x.example" })).toThrow(ConfigurationError);
    expect(make({ baseUrl: "http://x.example", profile: "gpt" })).toThrow(ConfigurationError);
  });
});
