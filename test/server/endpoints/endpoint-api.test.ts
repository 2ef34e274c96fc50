import { request as http1, type IncomingMessage } from "node:http";
import { connect, constants } from "node:http2";
import { connect as connectTcp } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { toSdkError } from "../../../src/core/errors.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import type {
  EndpointRequest,
  EndpointResponse,
  FailedResponse,
  HttpApi,
} from "../../../src/http/endpoint.ts";
import { textResponse } from "../support/scripted-inference.ts";
import { type TestServer, useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

/** An API whose routes are given by path. */
function createHttpApi(
  routes: Readonly<Record<string, (request: EndpointRequest) => Promise<EndpointResponse>>>,
): HttpApi {
  return {
    find(path) {
      const serve = routes[path];
      return serve === undefined ? undefined : { name: `POST ${path}`, serve, fail };
    },
  };
}

function fail(error: { readonly kind: ErrorKind; readonly message: string }): FailedResponse {
  return { ...json(418, { kind: error.kind, message: error.message }) };
}

function json(status: number, value: unknown): FailedResponse {
  return {
    status,
    headers: { "content-type": "application/json" },
    body: Buffer.from(JSON.stringify(value)),
  };
}

async function* chunks(texts: Iterable<string>): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

/** Reads the body, and answers with the body or with the reason for its refusal. */
async function echo(request: EndpointRequest): Promise<EndpointResponse> {
  try {
    const body = Buffer.from(await request.readBody()).toString();
    return json(200, {
      body,
      path: request.path,
      query: request.query.get("q"),
      type: request.headers["x-a"],
    });
  } catch (thrown) {
    const error = toSdkError(thrown);
    request.noteFailure(error);
    return fail(error);
  }
}

function post(server: TestServer, path: string, body: string | Uint8Array<ArrayBuffer>, headers = {}) {
  return fetch(`${server.url}${path}`, { method: "POST", body, headers });
}

describe("an HTTP API on the data listener", () => {
  it("gets path, query, headers and the whole body, even if compressed", async () => {
    const server = await servers.start({}, { apis: [createHttpApi({ "/v1/echo": echo })] });
    const plain = await post(server, "/v1/echo?q=1", '{"a":1}', { "x-a": "b" });
    expect(await plain.json()).toEqual({ body: '{"a":1}', path: "/v1/echo", query: "1", type: "b" });
    expect(plain.headers.get("content-length")).toBe("61");
    expect(plain.headers.get("x-request-id")).toMatch(/.+/);
    const gzip = new Uint8Array(gzipSync('{"b":2}'));
    const compressed = await post(server, "/v1/echo", gzip, { "content-encoding": "gzip" });
    expect(await compressed.json()).toMatchObject({ body: '{"b":2}' });
  });

  it.each([10, 20_000, 200_000])("sends a text of %i characters with its length in bytes", async (length) => {
    const text = "äé😀x\ud800".repeat(length / 5);
    const response = async () => ({ status: 200, headers: { "content-type": "text/plain" }, body: text });
    const server = await servers.start({}, { apis: [createHttpApi({ "/v1/text": response })] });
    const answer = await post(server, "/v1/text", "{}");
    expect(answer.headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
    expect(await answer.text()).toBe(text.toWellFormed());
  });

  it("gets bodies that come in pieces, none, and several on one connection", async () => {
    const server = await servers.start({}, { apis: [createHttpApi({ "/v1/echo": echo })] });
    const { port, hostname } = new URL(server.url);
    const socket = connectTcp(Number(port), hostname);
    const answers = (async () => {
      let text = "";
      for await (const chunk of socket) text += chunk;
      return text;
    })();
    const head = `POST /v1/echo HTTP/1.1\r\nhost: ${hostname}:${port}\r\n`;
    const pieces = [
      `${head}content-length: 4\r\n\r\n[1`,
      `,2`,
      `${head}content-length: 0\r\n\r\n`,
      `${head}\r\n`,
    ];
    const last = `${head}transfer-encoding: chunked\r\nconnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
    for (const piece of ["", ...pieces, last]) {
      socket.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const bodies = [...(await answers).matchAll(/"body":"([^"]*)"/g)].map(([, body]) => body);
    expect(bodies).toEqual(["[1,2", "", "", "{}"]);
  });

  it("gets bodies of no announced length over HTTP/2, and none", async () => {
    const server = await servers.start({}, { apis: [createHttpApi({ "/v1/echo": echo })] });
    const session = connect(server.url);
    servers.onEnd(() => session.close());
    const read = async (body: string | undefined) => {
      const head = { ":method": "POST", ":path": "/v1/echo" };
      const stream = session.request(head, { endStream: body === undefined });
      if (body !== undefined) stream.end(body);
      return JSON.parse(await text(stream)).body;
    };
    expect(await Promise.all([read("[1]"), read(undefined), read("")])).toEqual(["[1]", "", ""]);
    // More than are served in one turn.
    const empty = Array.from({ length: 40 }, () => "");
    expect(await Promise.all(empty.map(read))).toEqual(empty);
  });

  it("takes the names of compressions in any case, and refuses others with the names that it takes", async () => {
    const server = await servers.start({}, { apis: [createHttpApi({ "/v1/echo": echo })] });
    const gzip = new Uint8Array(gzipSync("{}"));
    const upper = await post(server, "/v1/echo", gzip, { "content-encoding": "GZIP" });
    expect(await upper.json()).toMatchObject({ body: "{}" });
    const plain = await post(server, "/v1/echo", "{}", { "content-encoding": "identity" });
    expect(await plain.json()).toMatchObject({ body: "{}" });
    const unknown = await post(server, "/v1/echo", "{}", { "content-encoding": "zstd" });
    expect(await unknown.json()).toEqual({
      kind: ErrorKind.INVALID_REQUEST,
      message: 'the header content-encoding is "zstd"; expected gzip, br or identity',
    });
  });

  it("refuses bodies beyond the limits in its form of error", async () => {
    const limits = { maxMessageBytes: 2000, maxMessageElements: 100 };
    const server = await servers.start({}, { limits, apis: [createHttpApi({ "/v1/echo": echo })] });
    const large = await post(server, "/v1/echo", "x".repeat(2001));
    expect([large.status, await large.json()]).toEqual([
      418,
      { kind: ErrorKind.INVALID_REQUEST, message: expect.stringContaining("limits.max_message_bytes") },
    ]);
    const wide = await post(server, "/v1/echo", `[${"1,".repeat(200)}1]`);
    expect(await wide.json()).toMatchObject({ message: expect.stringContaining("max_message_elements") });
    const inText = await post(server, "/v1/echo", JSON.stringify({ arguments: `[${"1,".repeat(200)}1]` }));
    expect(await inText.json()).toMatchObject({ message: expect.stringContaining("max_message_elements") });
    await expect.poll(() => server.log.filter(({ rpc }) => rpc === "POST /v1/echo").length).toBe(3);
    expect(server.log.find(({ rpc }) => rpc === "POST /v1/echo")).toMatchObject({
      code: "INVALID_ARGUMENT",
      protocol: "http",
    });
  });

  it("refuses a foreign Host and a call too many in its form", async () => {
    const apis = [createHttpApi({ "/v1/echo": echo })];
    const server = await servers.start({}, { apis, limits: { maxCalls: 0 } });
    const busy = await post(server, "/v1/echo", "{}");
    expect(await busy.json()).toMatchObject({ kind: ErrorKind.RATE_LIMIT });
    const [host, port] = server.authority.split(":");
    const foreign = await new Promise<string>((resolve, reject) => {
      http1({ host, port, path: "/v1/echo", method: "POST", headers: { host: "evil.example" } }, (answer) => {
        answer.setEncoding("utf8").on("data", resolve);
      })
        .on("error", reject)
        .end();
    });
    expect(JSON.parse(foreign)).toMatchObject({ kind: ErrorKind.ACCESS_DENIED });
  });

  it("reports the calls of its models", async () => {
    const complete = async (request: EndpointRequest) => {
      const response = await request.client.complete(create(RequestSchema, { model: "m-1" }), {
        signal: request.signal,
      });
      return json(200, { text: response.message?.content[0]?.part.value });
    };
    const server = await servers.start(
      { complete: async (call) => textResponse(call, "hello") },
      { apis: [createHttpApi({ "/v1/complete": complete })] },
    );
    const answer = await post(server, "/v1/complete", "{}");
    expect(await answer.json()).toEqual({ text: "hello" });
    expect(answer.headers.get("outrigger-inference-id")).toMatch(/^inf_/);
    expect(answer.headers.get("outrigger-timing")).toMatch(
      /^ours;dur=[\d.]+, provider;dur=0, queue;dur=0, total;dur=/,
    );
    await expect
      .poll(() => server.log.find(({ rpc }) => rpc === "POST /v1/complete"))
      .toMatchObject({
        model: "m-1",
        input_tokens: 7,
      });
  });

  it("sends the times of a stream in trailers, over HTTP/1.1 only to clients that read them", async () => {
    const call = async (request: EndpointRequest) => {
      await request.client.complete(create(RequestSchema, { model: "m-1" }), { signal: request.signal });
      return { status: 200, headers: { "content-type": "text/plain" }, body: chunks("abc") };
    };
    const server = await servers.start(
      { complete: async (scripted) => textResponse(scripted, "hello") },
      { apis: [createHttpApi({ "/v1/stream": call })] },
    );
    const [host, port] = server.authority.split(":");
    const read = (headers: Record<string, string>) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const sent = http1({ host, port, path: "/v1/stream", method: "POST", headers }, (answer) => {
          answer.resume().on("end", () => resolve(answer));
        });
        sent.on("error", reject).end("{}");
      });
    const deaf = await read({});
    expect([deaf.headers.trailer, deaf.trailers]).toEqual([undefined, {}]);
    expect(deaf.headers).toHaveProperty("outrigger-timing");
    const listening = await read({ te: "trailers" });
    expect(listening.headers.trailer).toBe("outrigger-timing");
    expect(listening.trailers).toHaveProperty("outrigger-timing");
    expect(listening.complete).toBe(true);
  });

  it("sends each element of a body as it comes, over HTTP/2 too", async () => {
    const endpoint = createHttpApi({
      "/v1/stream": async () => ({
        status: 200,
        headers: { "content-type": "text/plain" },
        body: chunks("abc"),
      }),
    });
    const server = await servers.start({}, { apis: [endpoint] });
    expect(await (await post(server, "/v1/stream", "{}")).text()).toBe("abc");
    const session = connect(server.url);
    servers.onEnd(() => session.close());
    const stream = session.request({ ":method": "POST", ":path": "/v1/stream" }).end("{}");
    let text = "";
    for await (const chunk of stream.setEncoding("utf8")) text += chunk;
    expect(text).toBe("abc");
  });

  it("notifies the API that its caller has disconnected, and abandons the body", async () => {
    const left = Promise.withResolvers<unknown>();
    const endpoint = createHttpApi({
      "/v1/endless": async ({ signal }) => ({
        status: 200,
        headers: {},
        body: (async function* () {
          try {
            for (;;) {
              yield Buffer.from("x");
              await new Promise((resolve) => setTimeout(resolve, 5));
            }
          } finally {
            left.resolve(toSdkError(signal.reason).kind);
          }
        })(),
      }),
    });
    const server = await servers.start({}, { apis: [endpoint] });
    const controller = new AbortController();
    const { signal } = controller;
    const answer = await fetch(`${server.url}/v1/endless`, { method: "POST", body: "{}", signal });
    await answer.body?.getReader().read();
    controller.abort();
    expect(await left.promise).toBe(ErrorKind.ABORT);
    await expect
      .poll(() => server.log.find(({ rpc }) => rpc === "POST /v1/endless"))
      .toMatchObject({
        code: "CANCELLED",
      });
  });

  it("cuts a response off if its body fails, and answers a bug before it with its error", async () => {
    const endpoint = createHttpApi({
      "/v1/breaks": async () => ({
        status: 200,
        headers: {},
        body: (async function* () {
          yield Buffer.from("x");
          throw new Error("a bug");
        })(),
      }),
      "/v1/fails": () => Promise.reject(new Error("a bug")),
    });
    const server = await servers.start({}, { apis: [endpoint] });
    const read = async () => (await post(server, "/v1/breaks", "{}")).text();
    await expect(read()).rejects.toThrow();
    const failed = await post(server, "/v1/fails", "{}");
    expect(await failed.json()).toEqual({ kind: ErrorKind.INTERNAL, message: "internal error" });
    expect((await post(server, "/v1/other", "{}")).status).toBe(404);
  });

  it("resets a stream of HTTP/2 with an error if its body fails, so that it does not look complete", async () => {
    const breaks = async () => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from("x");
        throw new Error("a bug");
      })(),
    });
    const server = await servers.start({}, { apis: [createHttpApi({ "/v1/breaks": breaks })] });
    const session = connect(server.url);
    servers.onEnd(() => session.close());
    const stream = session.request({ ":method": "POST", ":path": "/v1/breaks" }).on("error", () => {});
    stream.resume().end("{}");
    await new Promise((resolve) => stream.once("close", resolve));
    expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
  });
});
