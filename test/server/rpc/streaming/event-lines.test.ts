import http2 from "node:http2";
import { gzipSync } from "node:zlib";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { AbortError, RateLimitError, ServerError } from "../../../../src/core/errors.ts";
import { StreamEventSchema } from "../../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { openStream, readAnswer } from "../../support/raw-http2.ts";
import { type ScriptedCall, silence, textEvents } from "../../support/scripted-inference.ts";
import { type TestServer, useTestServers } from "../../support/test-server.ts";
import { startTestService } from "../../support/test-service.ts";

const servers = useTestServers();

const STREAM_PATH = "/outrigger.v1.InferenceService/Stream";
const SSE = "text/event-stream";
const NDJSON = "application/x-ndjson";
const BODY = JSON.stringify({ model: "m", messages: [{ role: "ROLE_USER", content: [{ text: "Hi" }] }] });

interface PostOptions {
  readonly accept?: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

function post(server: TestServer, { accept = SSE, body = BODY, headers = {}, signal }: PostOptions = {}) {
  return fetch(server.url + STREAM_PATH, {
    method: "POST",
    headers: { "content-type": "application/json", accept, ...headers },
    body,
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Reads server-sent events by the rules of the HTML standard that apply to ours. Returns their names and data. */
function eventsIn(text: string): { name: string | undefined; data: Record<string, JsonValue> }[] {
  expect(text === "" || text.endsWith("\n\n")).toBe(true);
  return text
    .split("\n\n")
    .slice(0, -1)
    .map((block) => {
      const fields = new Map(block.split("\n").map((line) => line.split(/: (.*)/s) as [string, string]));
      return { name: fields.get("event"), data: JSON.parse(fields.get("data") ?? "") };
    });
}

function linesIn(text: string): Record<string, JsonValue>[] {
  expect(text.endsWith("\n")).toBe(true);
  return text
    .slice(0, -1)
    .split("\n")
    .map((line) => JSON.parse(line));
}

function startTexts(texts: readonly string[] = ["a", "line\nline", "ü😀"]): Promise<TestServer> {
  return servers.start({
    stream: async function* (call) {
      yield textEvents(call, texts);
    },
  });
}

describe("a stream as server-sent events", () => {
  it("has the events as JSON, with their kinds as names", async () => {
    const server = await startTexts();
    const response = await post(server);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(SSE);
    expect(response.headers.get("cache-control")).toBe("no-cache");
    const events = eventsIn(await response.text());
    const [call] = server.inference.calls;
    if (call === undefined) throw new Error("nothing was called");
    expect(call.request.messages).toHaveLength(1);
    expect(response.headers.get("outrigger-inference-id")).toBe(call.inferenceId);
    const expected = textEvents(call, ["a", "line\nline", "ü😀"]);
    expect(events.map(({ data }) => fromJson(StreamEventSchema, data))).toEqual(expected);
    expect(events.map(({ name }) => name)).toEqual(expected.map(({ event }) => event.case));
    for (const { name = "", data } of events) expect(data).toHaveProperty(name);
  });

  it("arrives as it happens", async () => {
    const go = Promise.withResolvers<void>();
    const server = await servers.start({
      stream: async function* (call) {
        const events = textEvents(call, ["a"]);
        yield events.slice(0, 3);
        // Continues only after the client has the first events.
        await go.promise;
        yield events.slice(3);
      },
    });
    const { body } = await post(server);
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes("textDelta")) go.resolve();
    }
    expect(eventsIn(text).at(-1)?.name).toBe("finish");
  });

  it("ends with the event of an error and the status if it fails on its way", async () => {
    const server = await servers.start({ stream: failingAfterOutput });
    const response = await post(server);
    expect(response.status).toBe(200);
    const events = eventsIn(await response.text());
    expect(events.map(({ name }) => name)).toEqual(["streamStart", "textStart", "error", "status"]);
    expect(events.at(-1)?.data).toMatchObject({ status: { code: "unavailable", message: "it broke" } });
    expect(server.log.at(-1)).toMatchObject({ code: "UNAVAILABLE" });
  });

  it("is an HTTP status with Connect's JSON if it fails before its first event", async () => {
    const failure = new RateLimitError("slow down", { provider: "acme", httpStatusCode: 429, retryAfter: 2 });
    const server = await servers.start({
      stream: async function* () {
        yield await Promise.reject(failure);
      },
    });
    const response = await post(server);
    expect(response.status).toBe(429);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("retry-after")).toBe("2");
    expect(response.headers.get("x-request-id")).not.toBeNull();
    const error = (await response.json()) as { code: string; message: string; details: { type: string }[] };
    expect(error).toMatchObject({ code: "resource_exhausted", message: "slow down" });
    expect(error.details.map(({ type }) => type)).toContain("outrigger.v1.InferenceError");
  });

  it("ends the call when the client leaves", async () => {
    const left = Promise.withResolvers<unknown>();
    const server = await servers.start({ stream: (call) => startThenSilence(call, left.resolve) });
    const controller = new AbortController();
    const { body } = await post(server, { signal: controller.signal });
    const read = async () => {
      for await (const _chunk of body ?? []) controller.abort();
    };
    await expect(read()).rejects.toThrow();
    expect(await left.promise).toBeInstanceOf(AbortError);
    await expect.poll(() => server.log.at(-1)).toMatchObject({ code: "CANCELLED" });
  });

  it("has the deadline of Connect's header", async () => {
    const server = await servers.start({ stream: (call) => startThenSilence(call, () => {}) });
    const response = await post(server, { headers: { "connect-timeout-ms": "150" } });
    const events = eventsIn(await response.text());
    expect(events.map(({ name }) => name)).toEqual(["streamStart", "error", "status"]);
    expect(events.at(-1)?.data).toMatchObject({ status: { code: "deadline_exceeded" } });
  });

  it("works over HTTP/2", async () => {
    const server = await startTexts();
    const session = http2.connect(server.url);
    servers.onEnd(() => session.destroy());
    const stream = openStream(session, STREAM_PATH, { "content-type": "application/json", accept: SSE });
    stream.end(BODY);
    const { headers, body } = await readAnswer(stream);
    expect(headers).toMatchObject({ ":status": 200, "content-type": SSE });
    expect(eventsIn(String(body)).at(-1)?.name).toBe("finish");
  });
});

describe("a stream of another contract", () => {
  const post = (url: string) =>
    fetch(`${url}/grpc.testing.TestService/StreamingOutputCall`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: SSE },
      body: "{}",
    });

  it("has events without names if its messages are of one kind", async () => {
    const service = await startTestService({
      async *streamingOutputCall() {
        yield { payload: { body: new Uint8Array(3) } };
      },
    });
    servers.onEnd(() => service.close());
    expect(await (await post(service.url)).text()).toBe('data: {"payload":{"body":"AAAA"}}\n\n');
  });

  it("keeps the metadata of an error that is not itself an HTTP header", async () => {
    const service = await startTestService({
      // biome-ignore lint/correctness/useYield: it fails before its first message.
      async *streamingOutputCall() {
        throw new ConnectError("no", Code.NotFound, {
          "content-length": "1",
          "content-encoding": "gzip",
          "content-type": "text/html",
          "x-reason": "none",
        });
      },
    });
    servers.onEnd(() => service.close());
    const response = await post(service.url);
    expect(response.status).toBe(404);
    expect(response.headers.get("x-reason")).toBe("none");
    expect(await response.json()).toEqual({ code: "not_found", message: "no" });
  });
});

describe("a stream as JSON lines", () => {
  it("has one event per line", async () => {
    const server = await startTexts();
    const response = await post(server, { accept: NDJSON });
    expect(response.headers.get("content-type")).toBe(NDJSON);
    const lines = linesIn(await response.text());
    expect(lines.map(({ sequence = 0 }) => sequence)).toEqual(lines.map((_, index) => index));
    expect(lines.at(-1)).toHaveProperty("finish");
  });

  it("ends with a line that has the status if it fails on its way", async () => {
    const server = await servers.start({ stream: failingAfterOutput });
    const lines = linesIn(await (await post(server, { accept: NDJSON })).text());
    expect(lines.map((line) => Object.keys(line).at(-1))).toEqual([
      "streamStart",
      "textStart",
      "error",
      "status",
    ]);
  });
});

describe("a request for lines", () => {
  it.each([
    ["application/x-ndjson, text/event-stream", NDJSON],
    ["text/html, TEXT/EVENT-STREAM;q=0.9, */*", SSE],
  ])("that accepts %s gets %s", async (accept, type) => {
    const server = await startTexts();
    const response = await post(server, { accept });
    expect(response.headers.get("content-type")).toBe(type);
    await response.text();
  });

  it("that accepts anything else gets the accepted types", async () => {
    const server = await startTexts();
    const response = await post(server, { accept: "*/*" });
    expect(response.status).toBe(415);
    expect(await response.text()).toContain("if Accept is text/event-stream or application/x-ndjson");
  });

  it("may be compressed", async () => {
    const server = await startTexts();
    const response = await post(server, {
      body: new Uint8Array(gzipSync(BODY)),
      headers: { "content-encoding": "gzip" },
    });
    expect(eventsIn(await response.text()).at(-1)?.name).toBe("finish");
  });

  const wrong: Readonly<Record<string, readonly [PostOptions, number, string]>> = {
    "is no JSON": [{ body: "hello" }, 400, "not valid JSON"],
    "is empty": [{ body: "" }, 400, "JSON"],
    "has an unknown field": [{ body: '{"modle": "m"}' }, 400, "modle"],
    "is compressed in an unknown way": [{ headers: { "content-encoding": "zip" } }, 501, "zip"],
    "is not gzip as it says": [
      { headers: { "content-encoding": "gzip" } },
      400,
      "a compressed message is not valid gzip",
    ],
    "has a timeout that is no number": [{ headers: { "connect-timeout-ms": "soon" } }, 400, "soon"],
    "is too large": [{ body: `{"model":"${"x".repeat(5000)}"}` }, 429, "at most 4096 bytes"],
  };
  it.each(Object.entries(wrong))(
    "that %s fails with a status and a reason",
    async (_name, [options, status, reason]) => {
      const server = await servers.start({}, { limits: { maxMessageBytes: 4096 } });
      const response = await post(server, options);
      expect(response.status).toBe(status);
      const { message } = (await response.json()) as { message: string };
      expect(message).toContain(reason);
      expect(server.inference.calls).toEqual([]);
    },
  );
});

async function* failingAfterOutput(call: ScriptedCall) {
  yield textEvents(call, ["x"]).slice(0, 2);
  throw new ServerError("it broke", { provider: "acme", httpStatusCode: 500 });
}

async function* startThenSilence(call: ScriptedCall, onEnd: (reason: unknown) => void) {
  yield textEvents(call, []).slice(0, 1);
  try {
    await silence(call.signal);
  } finally {
    onEnd(call.signal.reason);
  }
}
