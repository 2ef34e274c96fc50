import { text } from "node:stream/consumers";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { NetworkError, ProviderError, SDKError, ServerError, StreamError } from "../../../src/core/errors.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import type { Request } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { MAX_ERROR_BYTES } from "../../../src/kit/adapter/http-adapter.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";
import { serveHttp, type TestServer, waitUntil } from "../http/servers.ts";
import { ask, getCases, KEY, openAdapter, PROMPT, read, useSimulator } from "./adapter-calls.ts";

const simulator = useSimulator();

/** The errors of both kinds of call. A stream that failed so early has no event. */
async function failures(
  place: Parameters<typeof openAdapter>[0],
  request: Request,
): Promise<[unknown, unknown]> {
  const adapter = openAdapter(place);
  const whole = await adapter.complete(request).catch((error: unknown) => error);
  const { events, error } = await read(adapter.stream(request));
  expect(events).toEqual([]);
  return [whole, error];
}

/** A server that refuses every request with a body. */
function refusing(status: number, body: string): Promise<TestServer> {
  return serveHttp(async (request, response) => {
    await text(request);
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
}

function complaint(message: string): string {
  return JSON.stringify({ error: { message, type: "invalid_request_error", code: null } });
}

describe("a failed answer", () => {
  it.each([
    ["status=400", "INVALID_REQUEST", false],
    ["status=400,code=context_length_exceeded", "CONTEXT_LENGTH", false],
    ["status=400,code=content_filter", "CONTENT_FILTER", false],
    ["status=401", "AUTHENTICATION", false],
    ["status=403", "ACCESS_DENIED", false],
    ["status=404", "NOT_FOUND", false],
    ["status=409", "PROVIDER", true],
    ["status=429", "RATE_LIMIT", true],
    ["status=429,code=insufficient_quota", "QUOTA_EXCEEDED", false],
    ["status=500", "SERVER", true],
    ["status=503", "SERVER", true],
    ["status=502,error_body=html", "SERVER", true],
    ["status=504,error_body=empty", "SERVER", true],
  ] as const)("%s is %s with the provider's facts", async (fault, kind, retryable) => {
    for (const error of await failures(simulator(), ask(`sim-text:${fault}`))) {
      expect(error).toBeInstanceOf(ProviderError);
      expect(error).toMatchObject({
        kind: ErrorKind[kind],
        retryable,
        provider: "openai",
        httpStatusCode: Number(/\d+/.exec(fault)?.[0]),
        outputStarted: false,
        rawJson: undefined,
      });
      const requestIds = simulator().requests.map(({ requestId }) => requestId);
      expect(requestIds).toContain((error as ProviderError).requestId);
    }
  });

  it.each([
    [
      301,
      "https://user:pw@other.example:8443/v1/?key=hush#x",
      "a redirect to https://other.example:8443/v1/;",
    ],
    [307, "/v2/chat?key=hush", "a redirect to /v2/chat;"],
    [308, undefined, "a redirect that names no target;"],
  ])("of status %d names where it leads, and is not retryable", async (status, location, found) => {
    const server = await serveHttp(async (request, response) => {
      await text(request);
      response.writeHead(status, location === undefined ? {} : { location }).end("moved");
    });
    for (const error of await failures(server, ask("m"))) {
      expect(error).toMatchObject({ kind: ErrorKind.PROVIDER, httpStatusCode: status, retryable: false });
      expect(String(error)).toContain(`answered ${status}, ${found} redirects are not followed`);
      expect(String(error)).not.toMatch(/hush|pw/);
    }
  });

  it("keeps its connection for the next call", async () => {
    const server = await refusing(400, complaint("no"));
    await failures(server, ask("m"));
    await waitUntil(() => server.sockets.length > 0);
    expect(server.sockets.filter(({ destroyed }) => destroyed)).toEqual([]);
  });

  it("is classified by its status if its body is larger than may be read", async () => {
    const server = await serveHttp((request, response) => {
      request.resume();
      response.writeHead(503, { "content-type": "application/json" });
      // An endless body must be abandoned, not read.
      const write = (): void => {
        while (!response.destroyed && response.write("x".repeat(16_384)));
      };
      response.on("drain", write);
      write();
    });
    for (const error of await failures(server, ask("m", { includeRaw: true }))) {
      expect(error).toBeInstanceOf(ServerError);
      expect(error).toMatchObject({
        httpStatusCode: 503,
        retryable: true,
        message: "openai answered 503",
        rawJson: "",
      });
    }
    await waitUntil(() => server.sockets.every(({ destroyed }) => destroyed));
  });

  it("is read as far as it may be", async () => {
    const rest = complaint("").length;
    const body = complaint("the largest".padEnd(MAX_ERROR_BYTES - rest));
    expect(Buffer.byteLength(body)).toBe(MAX_ERROR_BYTES);
    for (const error of await failures(await refusing(400, body), ask("m")))
      expect(error).toMatchObject({ message: "openai answered 400 (invalid_request_error): the largest" });
  });

  it("is classified by its status if its connection breaks in the middle of the body", async () => {
    const server = await serveHttp((request, response) => {
      request.resume();
      response.writeHead(500, { "content-length": 100 }).write("{", () => response.destroy());
    });
    for (const error of await failures(server, ask("m")))
      expect(error).toMatchObject({ kind: ErrorKind.SERVER });
  });
});

describe("what an error repeats", () => {
  it.each([
    ["the prompt", `Invalid prompt: ${PROMPT}`],
    ["a part of it", `Flagged: "…${PROMPT.slice(8, 50)}…"`],
  ])("is never %s", async (_what, message) => {
    for (const error of await failures(await refusing(400, complaint(message)), ask("m"))) {
      if (!(error instanceof SDKError)) throw error;
      expect(error.message).toBe(
        "openai answered 400 (invalid_request_error): (the provider's message repeats the prompt and was left out)",
      );
      expect(JSON.stringify([error, error.toProto()])).not.toContain("Leeds");
    }
  });

  it.each([false, true])("is never the key (include_raw: %s)", async (includeRaw) => {
    const server = await refusing(401, complaint(`Incorrect API key provided: ${KEY}. Or: Bearer ${KEY}!`));
    for (const error of await failures(server, ask("m", { includeRaw }))) {
      if (!(error instanceof SDKError)) throw error;
      expect(error.message).toBe(
        "openai answered 401 (invalid_request_error): Incorrect API key provided: (key). Or: Bearer (key)!",
      );
      expect(JSON.stringify([error, error.toProto()])).not.toContain(KEY);
    }
  });

  it("is never the key if the provider sends it back as a header, a code or in escapes", async () => {
    const escaped = KEY.replace("-", "\\u002d");
    const server = await serveHttp(async (request, response) => {
      await text(request);
      const body = `{"error":{"message":"no ${escaped}","code":"${KEY}","type":"${escaped}"}}`;
      response.writeHead(400, { "x-request-id": `req-${KEY}` }).end(body);
    });
    for (const error of await failures(server, ask("m", { includeRaw: true }))) {
      if (!(error instanceof ProviderError)) throw error;
      expect(error).toMatchObject({ requestId: "req-(key)", errorCode: "(key)" });
      expect(error.rawJson).toBe('{"error":{"message":"no (key)","code":"(key)","type":"(key)"}}');
      expect(error.message).toBe("openai answered 400 ((key)): no (key)");
    }
  });

  it("is never the key in the model or the request id of an answer, or in a failure inside a stream", async () => {
    const server = await serveHttp(async (request, response) => {
      const body = await text(request);
      const answer = { id: `resp_${KEY}`, status: "completed", model: KEY, output: [] };
      const events = [
        { type: "response.created", response: answer },
        { type: "error", code: KEY, message: `bad ${KEY}` },
      ].map((event) => `data: ${JSON.stringify(event)}\n\n`);
      const isStream = body.includes('"stream":true');
      response.writeHead(200, {
        "x-request-id": KEY,
        "content-type": isStream ? "text/event-stream" : "application/json",
      });
      response.end(isStream ? events.join("") : JSON.stringify(answer));
    });
    const adapter = openAdapter(server);
    const response = await adapter.complete(ask("m"));
    expect(response).toMatchObject({ model: "(key)", providerRequestId: "(key)", id: "resp_(key)" });
    const { events, error } = await read(adapter.stream(ask("m")));
    expect(getCases(events)).toEqual(["streamStart", "error"]);
    const seen = JSON.stringify([events, error], (_key, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
    expect(seen).not.toContain(KEY);
    expect(error).toMatchObject({ message: "openai reported a failure ((key)): bad (key)" });
  });

  it("is at most 256 characters of a request id", async () => {
    const server = await serveHttp((request, response) => {
      request.resume();
      response.writeHead(500, { "x-request-id": "r".repeat(9000) }).end();
    });
    for (const error of await failures(server, ask("m")))
      expect(error).toMatchObject({ requestId: "r".repeat(256) });
  });

  it("is the provider's body only if include_raw asks for it, and at most 2 KiB of that", async () => {
    const body = complaint("é".repeat(3_000));
    const server = await refusing(400, body);
    for (const error of await failures(server, ask("m"))) expect(error).toMatchObject({ rawJson: undefined });
    for (const error of await failures(server, ask("m", { includeRaw: true }))) {
      const { rawJson = "" } = error as ProviderError;
      expect(body.startsWith(rawJson)).toBe(true);
      expect([2047, 2048]).toContain(Buffer.byteLength(rawJson));
    }
    const small = await refusing(400, complaint("no"));
    for (const error of await failures(small, ask("m", { includeRaw: true })))
      expect(error).toMatchObject({ rawJson: complaint("no") });
  });
});

describe("a call that breaks", () => {
  it("before the answer is NETWORK", async () => {
    for (const error of await failures(simulator(), ask("sim-text:drop=1"))) {
      expect(error).toBeInstanceOf(NetworkError);
      expect(error).toMatchObject({ retryable: true, outputStarted: false });
    }
  });

  it("in the middle of a whole answer is NETWORK", async () => {
    const call = openAdapter(simulator()).complete(ask("sim-text:cut_events=1"));
    await expect(call).rejects.toThrow(NetworkError);
  });

  it.each([
    ["cut_events=6", "the provider's stream broke: the connection to"],
    ["cut_bytes=4500", "the provider's stream broke: the connection to"],
    ["end_without_terminal=1", "the provider's stream ended before its end marker"],
    ["malformed_after=6", "an event of the provider's stream is not a JSON object"],
  ])("in the middle of a stream is STREAM after the error event (%s)", async (fault, message) => {
    const { events, error } = await read(openAdapter(simulator()).stream(ask(`sim-text:${fault}`)));
    expect(error).toBeInstanceOf(StreamError);
    expect(error).toMatchObject({
      message: expect.stringContaining(message),
      retryable: true,
      outputStarted: true,
    });
    expect(events.at(-1)?.event).toEqual({ case: "error", value: (error as SDKError).toProto() });
    expect(getCases(events)).toContain("textDelta");
    if (fault.startsWith("cut")) expect((error as SDKError).cause).toBeInstanceOf(NetworkError);
  });

  it.each(["event", "failed", "nested"])("in the provider's words keeps its kind (%s)", async (style) => {
    const model = `sim-text:error_after=6,error_code=rate_limit_exceeded,error_style=${style}`;
    const { events, error } = await read(openAdapter(simulator()).stream(ask(model)));
    expect(error).toMatchObject({
      kind: ErrorKind.RATE_LIMIT,
      errorCode: "rate_limit_exceeded",
      outputStarted: true,
    });
    expect(getCases(events).at(-1)).toBe("error");
    await expect(openAdapter(simulator()).complete(ask(model))).rejects.toMatchObject({
      kind: ErrorKind.RATE_LIMIT,
    });
  });

  it("before its first event yields only the error", async () => {
    const { events, error } = await read(
      openAdapter(simulator()).stream(ask("sim-text:error_after=0,error_code=server_error")),
    );
    expect(events).toEqual([]);
    expect(error).toMatchObject({ kind: ErrorKind.SERVER, outputStarted: false });
  });
});

describe("the body of a failed answer", () => {
  const overloaded = JSON.stringify({
    error: { message: "slow down", type: "tokens", code: "rate_limit_exceeded" },
  });

  function answering(headers: Record<string, string>, body: Uint8Array | undefined): Promise<TestServer> {
    return serveHttp(async (request, response) => {
      await text(request);
      response.writeHead(429, { "retry-after": "7", ...headers });
      if (body === undefined) response.flushHeaders();
      else response.end(body);
    });
  }

  it.each([
    ["gzip", gzipSync(overloaded), "rate_limit_exceeded"],
    ["GZIP", gzipSync(overloaded), "rate_limit_exceeded"],
    ["br", brotliCompressSync(overloaded), "rate_limit_exceeded"],
    ["Identity", Buffer.from(overloaded), "rate_limit_exceeded"],
    ["", Buffer.from(overloaded), "rate_limit_exceeded"],
    ["zstd", Buffer.from("?"), undefined],
    ["gzip", Buffer.from("this is not gzip"), undefined],
    ["gzip", gzipSync(Buffer.alloc(4 * MAX_ERROR_BYTES, "x")), undefined],
  ])("in the encoding %j does not hide its status", async (encoding, body, errorCode) => {
    const server = await answering(
      { "content-type": "application/json", "content-encoding": encoding },
      body,
    );
    for (const error of await failures(server, ask("sim-text"))) {
      expect(error).toMatchObject({
        kind: ErrorKind.RATE_LIMIT,
        httpStatusCode: 429,
        retryAfter: 7,
        errorCode,
      });
    }
  });

  it("that never arrives is awaited for a few seconds only", async () => {
    const server = await answering({ "content-type": "application/json" }, undefined);
    const error = await openAdapter(server)
      .complete(ask("sim-text"))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: ErrorKind.RATE_LIMIT, httpStatusCode: 429, retryAfter: 7 });
  });
});

describe("the body of an answer", () => {
  it("that does not match its encoding is a broken answer, not a bug", async () => {
    const server = await serveHttp(async (request, response) => {
      await text(request);
      response
        .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        .end("not gzip");
    });
    await expect(openAdapter(server).complete(ask("sim-text"))).rejects.toBeInstanceOf(StreamError);
  });

  it("is decoded if a server compresses it unasked", async () => {
    const [recording] = getRecordings("openai-responses", ".json").filter(({ file }) =>
      file.includes("structured"),
    );
    if (recording === undefined) throw new Error("there is no such recording");
    const body = toBytes(recording);
    const server = (headers: Record<string, string>, bytes: Uint8Array) =>
      serveHttp(async (request, response) => {
        await text(request);
        response.writeHead(200, { "content-type": "application/json", ...headers }).end(bytes);
      });
    const plain = await openAdapter(await server({}, body)).complete(ask("sim-text"));
    const zipped = await openAdapter(await server({ "content-encoding": "gzip" }, gzipSync(body))).complete(
      ask("sim-text"),
    );
    expect(zipped.message).toEqual(plain.message);
  });
});
