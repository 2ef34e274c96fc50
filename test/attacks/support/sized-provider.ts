/** A provider of Chat Completions whose answers have the size that the model's name says. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import type { ProviderEntry } from "./provider.ts";

/** Characters of one delta of a streamed answer. */
const DELTA_CHARS = 64 * 1024;

const HEAD = { id: "chatcmpl-1", created: 1, model: "m" };
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

/**
 * Starts the provider. The model `m-3000000` answers with three million characters, as a stream if that is asked for.
 */
export async function startSizedProvider(): Promise<ProviderEntry> {
  const server = createServer((request, response) => void answer(request, response));
  // On a busy machine the sidecar may send a request later than intended.
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has no port");
  return { api: "openai-chat", base_url: `http://127.0.0.1:${address.port}/v1` };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.on("error", () => {});
  let body = "";
  for await (const chunk of request.setEncoding("latin1")) body += chunk;
  const chars = Number(/"model":"m-(\d+)"/.exec(body)?.[1]);
  if (/"stream":true/.test(body)) await streamAnswer(response, chars);
  else sendWhole(response, chars);
}

function sendWhole(response: ServerResponse, chars: number): void {
  const message = { role: "assistant", content: "x".repeat(chars) };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ ...HEAD, object: "chat.completion", choices, usage: USAGE }));
}

async function streamAnswer(response: ServerResponse, chars: number): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const full = toEvent({ content: "x".repeat(DELTA_CHARS) }, null);
  for (let sent = 0; sent < chars && !response.destroyed; sent += DELTA_CHARS) {
    const rest = Math.min(DELTA_CHARS, chars - sent);
    const event = rest === DELTA_CHARS ? full : toEvent({ content: "x".repeat(rest) }, null);
    if (!response.write(event)) await drained(response);
  }
  response.end(`${toEvent({}, "stop")}data: [DONE]\n\n`);
}

/** Resolves when the response takes more, or is closed. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

function toEvent(delta: object, finish: string | null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ ...HEAD, object: "chat.completion.chunk", choices })}\n\n`;
}
