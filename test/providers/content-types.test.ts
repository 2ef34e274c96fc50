/** Servers and proxies send answers with the content type of something else. */
import {
  AnthropicAdapter,
  GeminiAdapter,
  OpenAIAdapter,
  OpenAIChatAdapter,
  type ProviderAdapter,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { SDKError, StreamError } from "../../src/core/errors.ts";
import type { Response } from "../../src/gen/outrigger/v1/response_pb.ts";
import { ask, read } from "../kit/adapter/adapter-calls.ts";
import { serveHttp } from "../kit/http/servers.ts";
import { eventText, type WireFormat, wireFormats } from "./support/wire-formats.ts";

const CREATE: Readonly<Record<string, (url: string) => ProviderAdapter>> = {
  "Chat Completions": (url) => new OpenAIChatAdapter({ name: "p", baseUrl: `${url}/v1` }),
  Responses: (url) => new OpenAIAdapter({ apiKey: "k", baseUrl: `${url}/v1` }),
  Messages: (url) => new AnthropicAdapter({ apiKey: "k", baseUrl: url }),
  generateContent: (url) => new GeminiAdapter({ apiKey: "k", baseUrl: url }),
};

interface Outcome {
  readonly response: Response | undefined;
  readonly error: unknown;
}

/** Calls an adapter whose server gives an answer. */
async function call(format: WireFormat, body: string, type: string | undefined): Promise<[Outcome, Outcome]> {
  const server = await serveHttp((request, response) => {
    request.resume();
    response.writeHead(200, type === undefined ? {} : { "content-type": type }).end(body);
  });
  const adapter = CREATE[format.name]?.(`http://127.0.0.1:${server.port}`);
  if (adapter === undefined) throw new Error(`no adapter for ${format.name}`);
  const whole = await adapter.complete(ask("model-1")).then(
    (response) => ({ response, error: undefined }),
    (error: unknown) => ({ response: undefined, error }),
  );
  const { events, error } = await read(adapter.stream(ask("model-1")));
  const last = events.at(-1)?.event;
  await adapter.close?.();
  return [whole, { response: last?.case === "finish" ? last.value.response : undefined, error }];
}

describe.each(wireFormats)("a server of $name", (format) => {
  const said = { part: { text: "Hello" }, finish: format.words.stop };
  const hello = [{ part: { case: "text", value: "Hello" } }];

  it.each(["application/json", "text/plain", "text/event-stream", undefined])(
    "may send a whole answer in place of a stream, as %s",
    async (type) => {
      const [, streamed] = await call(format, JSON.stringify(format.whole(said)), type);
      expect(streamed.error).toBeUndefined();
      expect(streamed.response?.message?.content).toMatchObject(hello);
    },
  );

  it.each(["application/json", "text/plain", "text/event-stream", undefined])(
    "may send a stream, also in place of a whole answer, as %s",
    async (type) => {
      const body = `: ready\n\n${format
        .events(said)
        .map((event) => eventText(event))
        .join("")}${format.end}`;
      for (const { response, error } of await call(format, body, type)) {
        expect(error).toBeUndefined();
        expect(response?.message?.content).toMatchObject(hello);
      }
    },
  );

  it("causes an error if a stream in place of a whole answer is cut", async () => {
    const body = format
      .events(said)
      .map((event) => eventText(event))
      .join("")
      .slice(0, -9);
    for (const { error } of await call(format, body, "text/event-stream"))
      expect(error).toBeInstanceOf(StreamError);
  });

  it.each([
    ["<!doctype html><title>Sign in</title>", "an HTML page: Sign in", "an HTML page: Sign in"],
    ["", "an empty body", "is empty"],
    ["OK", "a body that is not JSON", "ended before its end marker"],
  ])("gets an error that describes what it sent with success: %s", async (body, whole, streamed) => {
    const type = body.startsWith("<") ? "text/html" : "text/plain";
    const outcomes = await call(format, body, type);
    expect(outcomes.map(({ error }) => error)).toMatchObject([
      { message: expect.stringContaining(whole), retryable: true },
      { message: expect.stringContaining(streamed), retryable: true },
    ]);
    for (const { error } of outcomes) expect(error).toBeInstanceOf(SDKError);
  });
});
