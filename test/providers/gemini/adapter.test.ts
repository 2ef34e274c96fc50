import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it, onTestFinished } from "vitest";
import { accumulate } from "../../../src/core/accumulator.ts";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { textOf, userMessage } from "../../../src/core/message.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { ToolChoice_Mode as Mode, RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { GeminiAdapter, type GeminiAdapterOptions } from "../../../src/providers/gemini/adapter.ts";
import { serveHttp } from "../../kit/http/servers.ts";
import { event, NEW_MODEL } from "./support.ts";

const KEY = "AIzaSyVerySecretKey0123456789";

interface Seen {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An adapter and a server with fixed answers, which records the requests. */
async function reach(
  answer: (response: ServerResponse) => void,
  options: Partial<GeminiAdapterOptions> = {},
): Promise<{ adapter: GeminiAdapter; seen: Seen[] }> {
  const seen: Seen[] = [];
  const { port } = await serveHttp(async (request: IncomingMessage, response: ServerResponse) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    seen.push({ url: request.url ?? "", headers: request.headers, body });
    answer(response);
  });
  const adapter = new GeminiAdapter({ apiKey: KEY, baseUrl: `http://127.0.0.1:${port}`, ...options });
  onTestFinished(() => adapter.close());
  return { adapter, seen };
}

const json =
  (body: unknown, status = 200) =>
  (response: ServerResponse) => {
    response
      .writeHead(status, { "content-type": "application/json; charset=UTF-8" })
      .end(JSON.stringify(body));
  };
const sse =
  (events: readonly object[], lineEnd = "\r\n") =>
  (response: ServerResponse) => {
    const lines = events.map((each) => `data: ${JSON.stringify(each)}${lineEnd}${lineEnd}`);
    response.writeHead(200, { "content-type": "text/event-stream" }).end(lines.join(""));
  };
const requestFor = (request: MessageInitShape<typeof RequestSchema> = {}) =>
  create(RequestSchema, { model: NEW_MODEL, messages: [userMessage("hi")], ...request });

const STOP = { finishReason: "STOP" };
const ANSWER = { ...event([{ text: "Hello" }], STOP), responseId: "r1", modelVersion: NEW_MODEL };

describe("GeminiAdapter", () => {
  it("calls generateContent and sends the key only in a header", async () => {
    const { adapter, seen } = await reach(json(ANSWER));
    const response = await adapter.complete(requestFor());
    expect(response).toMatchObject({
      id: "r1",
      providerRequestId: "r1",
      provider: "gemini",
      model: NEW_MODEL,
    });
    expect(textOf(response)).toBe("Hello");
    expect(response.rateLimit).toBeUndefined();
    expect(seen[0]?.url).toBe(`/v1beta/models/${NEW_MODEL}:generateContent`);
    expect(seen[0]?.headers["x-goog-api-key"]).toBe(KEY);
    expect(seen[0]?.headers.authorization).toBeUndefined();
    expect(JSON.parse(seen[0]?.body ?? "")).toEqual({
      contents: [{ role: "user", parts: [{ text: "hi" }] }],
    });
  });

  it.each(["\n", "\r", "\r\n"])(
    "streams from streamGenerateContent with the line ends %j",
    async (lineEnd) => {
      const { adapter, seen } = await reach(
        sse([event([{ text: "Hel" }]), event([{ text: "lo" }], STOP)], lineEnd),
      );
      expect(textOf(await accumulate(adapter.stream(requestFor())))).toBe("Hello");
      expect(seen[0]?.url).toBe(`/v1beta/models/${NEW_MODEL}:streamGenerateContent?alt=sse`);
      expect(seen[0]?.headers.accept).toBe("text/event-stream");
      expect(JSON.stringify(seen.map(({ url, body }) => url + body))).not.toContain(KEY);
    },
  );

  it("reads a stream that the server sends as a JSON list", async () => {
    const { adapter } = await reach(json([event([{ text: "Hel" }]), event([{ text: "lo" }], STOP)]));
    expect(textOf(await accumulate(adapter.stream(requestFor())))).toBe("Hello");
  });

  it("uses the configured base URL, API version and headers, and resource names of models", async () => {
    const { adapter, seen } = await reach(json(ANSWER), {
      name: "google-eu",
      apiVersion: "v1",
      defaultHeaders: { "x-goog-user-project": "p1" },
    });
    const response = await adapter.complete(requestFor({ model: "tunedModels/mine" }));
    expect(response.provider).toBe("google-eu");
    expect(seen[0]?.url).toBe("/v1/tunedModels/mine:generateContent");
    expect(seen[0]?.headers["x-goog-user-project"]).toBe("p1");
  });

  it("distinguishes a wrong key from an invalid request and never repeats the key", async () => {
    const error = {
      code: 400,
      message: `API key not valid: ${KEY}`,
      status: "INVALID_ARGUMENT",
      details: [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" },
        { "@type": "type.googleapis.com/google.rpc.DebugInfo", detail: `Invalid API key: ${KEY}` },
      ],
    };
    const { adapter } = await reach(json([{ error }], 400));
    const thrown = await adapter
      .complete(requestFor({ includeRaw: true }))
      .catch((reason: unknown) => reason);
    expect(thrown).toMatchObject({
      kind: ErrorKind.AUTHENTICATION,
      httpStatusCode: 400,
      errorCode: "API_KEY_INVALID",
    });
    expect(JSON.stringify(thrown) + String(thrown)).not.toContain(KEY);
    expect((thrown as { rawJson: string }).rawJson).toContain("(key)");
  });

  it("fails a stream before its first event if the provider refuses the request", async () => {
    const { adapter } = await reach(
      json({ error: { code: 503, status: "UNAVAILABLE", message: "busy" } }, 503),
    );
    await expect(accumulate(adapter.stream(requestFor()))).rejects.toMatchObject({ kind: ErrorKind.SERVER });
  });

  it("reports a connection that is lost during a stream as a StreamError", async () => {
    const { adapter } = await reach((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: ${JSON.stringify(event([{ text: "Hel" }]))}\n\n`);
      setImmediate(() => response.destroy());
    });
    await expect(accumulate(adapter.stream(requestFor()))).rejects.toMatchObject({
      kind: ErrorKind.STREAM,
      outputStarted: true,
    });
  });

  it("refuses a model that would change the path before anything is sent", async () => {
    const { adapter, seen } = await reach(json(ANSWER));
    await expect(adapter.complete(requestFor({ model: "../files" }))).rejects.toThrow("model:");
    expect(seen).toEqual([]);
  });

  it("reads only files whose folder is allowed", async () => {
    const image = {
      part: { case: "image", value: { source: { case: "url", value: import.meta.filename } } },
    } as const;
    const { adapter, seen } = await reach(json(ANSWER));
    await expect(adapter.complete(requestFor({ messages: [userMessage(image)] }))).rejects.toThrow(
      "messages[0].content[0].image.url",
    );
    expect(seen).toEqual([]);
  });

  it("reports which tool choices a model supports", () => {
    const adapter = new GeminiAdapter({ apiKey: KEY });
    onTestFinished(() => adapter.close());
    expect(
      [Mode.AUTO, Mode.NONE, Mode.REQUIRED, Mode.NAMED].map((mode) =>
        adapter.supportsToolChoice(mode, NEW_MODEL),
      ),
    ).toEqual([true, true, true, true]);
  });

  it("requires a key", () => {
    expect(() => new GeminiAdapter({ apiKey: "" })).toThrow(ConfigurationError);
  });
});
