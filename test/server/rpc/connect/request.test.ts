import { once } from "node:events";
import http2 from "node:http2";
import net from "node:net";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { ConnectError, createClient } from "@connectrpc/connect";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, it, vi } from "vitest";
import { BadRequestSchema } from "../../../../src/gen/google/rpc/error_details_pb.ts";
import { ErrorKind, InferenceErrorSchema } from "../../../../src/gen/outrigger/v1/error_pb.ts";
import { InferenceService } from "../../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { RequestSchema } from "../../../../src/gen/outrigger/v1/request_pb.ts";
import { codeName } from "../../../../src/server/status/status-code.ts";
import { callGrpc, getStatus, grpcClient, TRANSPORTS, toDetail } from "../../support/clients.ts";
import { exchange, frame, inferencePath, openStream, readAnswer } from "../../support/raw-http2.ts";
import { textResponse } from "../../support/scripted-inference.ts";
import { type TestServer, useTestServers } from "../../support/test-server.ts";

const servers = useTestServers();

const LIMIT = 4096;
const WINDOW = 256 * 1024;
const TOO_LONG = "x".repeat(LIMIT);
const JSON_TYPE = { "content-type": "application/json" };

function startAnswering(limits = {}): Promise<TestServer> {
  return servers.start({ complete: async (call) => textResponse(call, "x") }, { limits });
}

/** The status of a gRPC answer: its code, its message and the kind in its details. */
function getGrpcStatus(trailers: http2.IncomingHttpHeaders) {
  const metadata = grpc.Metadata.fromHttp2Headers(trailers);
  const kind =
    metadata.get("grpc-status-details-bin").length === 0
      ? undefined
      : toDetail(getStatus(metadata).status, InferenceErrorSchema)?.kind;
  const message = decodeURIComponent(String(trailers["grpc-message"] ?? ""));
  return { code: Number(trailers["grpc-status"]), message, kind };
}

/** The body of a failed call as Connect writes it. */
interface FailedCall {
  readonly code: string;
  readonly message: string;
  readonly details?: readonly { readonly type: string; readonly value: string }[];
}

async function postJson(server: TestServer, method: string, body: string, accept = "application/json") {
  const response = await fetch(`${server.url}${inferencePath(method)}`, {
    method: "POST",
    headers: { ...JSON_TYPE, accept },
    body,
  });
  return { status: response.status, body: (await response.json()) as FailedCall };
}

/** Sends a request in chunks and another one behind it on the same connection; returns all answers. */
function sendTwo(server: TestServer, chunks: readonly string[]): Promise<string> {
  const [host = "", port = ""] = server.authority.split(":");
  const socket = net.connect(Number(port), host);
  servers.onEnd(() => socket.destroy());
  const head = `POST ${inferencePath("Complete")} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
  for (const chunk of chunks) socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  socket.write(`0\r\n\r\n${head}Connection: close\r\nContent-Length: 2\r\n\r\n{}`);
  let answers = "";
  socket.on("data", (chunk) => {
    answers += chunk;
  });
  return new Promise((resolve) => socket.once("close", () => resolve(answers)));
}

describe("a message that is too large", () => {
  it.each(Object.entries(TRANSPORTS))(
    "over %s is RESOURCE_EXHAUSTED and names the limit",
    async (_name, transportTo) => {
      const server = await startAnswering({ maxMessageBytes: LIMIT });
      const client = createClient(InferenceService, transportTo(server.url));
      const error = await client.complete({ model: TOO_LONG }).catch(ConnectError.from);
      if (!(error instanceof ConnectError)) throw new Error("the call did not fail");
      expect(codeName(error.code)).toBe("RESOURCE_EXHAUSTED");
      expect(error.rawMessage).toContain(String(LIMIT));
      expect(error.findDetails(InferenceErrorSchema)).toMatchObject([
        { kind: ErrorKind.INVALID_REQUEST, retryable: false },
      ]);
      expect(error.metadata.get("grpc-retry-pushback-ms")).toBe("-1");
      expect(server.inference.calls).toEqual([]);
    },
  );

  it("is refused by its announced size, before it is sent", async () => {
    const server = await startAnswering({ maxMessageBytes: LIMIT });
    const session = http2.connect(server.url);
    servers.onEnd(() => session.destroy());
    const stream = openStream(session, inferencePath("Complete"));
    const announced = Buffer.alloc(5);
    announced.writeUInt32BE(0x7fffffff, 1);
    stream.write(announced);
    expect(getGrpcStatus((await readAnswer(stream)).trailers)).toMatchObject({
      code: grpc.status.RESOURCE_EXHAUSTED,
      kind: ErrorKind.INVALID_REQUEST,
    });
  });

  it("that comes in chunks over HTTP/1.1 gets its answer, and leaves the connection usable", async () => {
    const server = await startAnswering({ maxMessageBytes: LIMIT });
    const answers = await sendTwo(
      server,
      Array.from({ length: 512 }, () => " ".repeat(512)),
    );
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 429", "HTTP/1.1 200"]);
  });

  it("is so after decompression too", async () => {
    const server = await startAnswering({ maxMessageBytes: LIMIT });
    const bomb = gzipSync(Buffer.alloc(1024 * 1024));
    expect(bomb.byteLength).toBeLessThan(LIMIT);
    const { trailers } = await exchange(
      server.url,
      inferencePath("Complete"),
      { "grpc-encoding": "gzip" },
      frame(bomb, 1),
    );
    expect(getGrpcStatus(trailers)).toMatchObject({
      code: grpc.status.RESOURCE_EXHAUSTED,
      kind: ErrorKind.INVALID_REQUEST,
    });
  });

  it("is so after the decompression of a body that is one message", async () => {
    const server = await startAnswering({ maxMessageBytes: LIMIT, maxMessageElements: 10 });
    const post = async (body: object) => {
      const response = await fetch(`${server.url}${inferencePath("Complete")}`, {
        method: "POST",
        headers: { ...JSON_TYPE, "content-encoding": "gzip" },
        body: gzipSync(JSON.stringify(body)),
      });
      return { status: response.status, text: await response.text() };
    };
    const large = await post({ model: TOO_LONG });
    expect([large.status, large.text]).toEqual([429, expect.stringContaining("(limits.max_message_bytes)")]);
    const many = await post({ model: "m", stopSequences: Array.from({ length: 20 }, () => "x") });
    expect([many.status, many.text]).toEqual([429, expect.stringContaining("(limits.max_message_elements)")]);
    expect((await post({ model: "m" })).status).toBe(200);
  });

  it("is not one of 30 MiB, by default", async () => {
    const server = await servers.start({
      complete: async (call) => textResponse(call, call.request.metadata.big ?? ""),
    });
    const client = grpcClient(server.authority);
    servers.onEnd(() => client.close());
    const big = "x".repeat(30 * 1024 * 1024);
    const { code, messages } = await callGrpc(client, InferenceService.method.complete, {
      model: "m",
      metadata: { big },
    });
    expect(code).toBe(grpc.status.OK);
    expect(messages[0]?.message?.content[0]?.part.value).toHaveLength(big.length);
  });
});

describe("a message that is malformed", () => {
  const cases: Readonly<Record<string, Buffer>> = {
    "no frame at all": Buffer.alloc(0),
    "half a frame header": Buffer.from([0, 0]),
    "a frame that is cut": frame(Buffer.alloc(100)).subarray(0, 50),
    "a frame that is no protobuf": frame(Buffer.from([0xff, 0xff, 0xff])),
    "bytes after the message": Buffer.concat([frame(Buffer.alloc(0)), Buffer.from([1])]),
    "two messages": Buffer.concat([frame(Buffer.alloc(0)), frame(Buffer.alloc(0))]),
    "a compressed frame that is no gzip": frame(Buffer.from("x"), 1),
  };
  it.each(Object.entries(cases))("%s is an error of the client", async (name, body) => {
    const server = await startAnswering();
    const headers: Record<string, string> = name.endsWith("no gzip") ? { "grpc-encoding": "gzip" } : {};
    const { headers: answered, trailers } = await exchange(
      server.url,
      inferencePath("Complete"),
      headers,
      body,
    );
    expect(answered[":status"]).toBe(200);
    const { code, message } = getGrpcStatus(trailers);
    expect([grpc.status.INVALID_ARGUMENT, grpc.status.UNIMPLEMENTED]).toContain(code);
    expect(message).not.toBe("");
    expect(server.inference.calls).toEqual([]);
  });

  // gRPC's compression.md asks for this code. It is still not our bug, and not logged as one.
  it.each(["application/grpc", "application/grpc+json", "application/grpc-web"])(
    "a frame of %s that is compressed without an encoding is INTERNAL",
    async (type) => {
      const server = await startAnswering();
      const { trailers, body } = await exchange(
        server.url,
        inferencePath("Complete"),
        { "content-type": type },
        frame(gzipSync("x"), 1),
      );
      expect(trailers["grpc-status"] ?? body.toString("latin1")).toContain("13");
      expect(server.inference.calls).toEqual([]);
      // The line is written once the response is flushed.
      await vi.waitFor(() =>
        expect(server.log.at(-1)).toMatchObject({ level: 40, code: "INTERNAL", failed_by: "caller" }),
      );
    },
  );

  it("is reset without an error if it is rejected before its end", async () => {
    const server = await startAnswering({ maxMessageBytes: LIMIT });
    const session = http2.connect(server.url);
    servers.onEnd(() => session.destroy());
    const stream = openStream(session, inferencePath("Complete"), { "content-type": "application/grpc-web" });
    const head = Buffer.alloc(5);
    head.writeUInt32BE(2 * WINDOW, 1);
    // More than the window of a stream: unread, it can never be sent to its end.
    stream.write(Buffer.concat([head, Buffer.alloc(2 * WINDOW)]));
    const { body } = await readAnswer(stream);
    expect(body.toString("latin1")).toContain("grpc-status: 8");
    await once(stream, "close");
    expect(stream.rstCode).toBe(http2.constants.NGHTTP2_NO_ERROR);
  });

  it.each([
    ["Complete", "application/json"],
    ["Stream", "text/event-stream"],
  ])("in JSON of %s names all fields with the found and the expected value", async (method, accept) => {
    const server = await startAnswering();
    const json = `{"model": 7, "max_token": 7, "messages": [{"role": "user"}, {"content": [{"text": "a", "image": {}}]}]}`;
    const { status, body } = await postJson(server, method, json, accept);
    expect([status, body.code]).toEqual([400, "invalid_argument"]);
    expect(body.message).toContain("model: expected a string, found 7; max_token: is not a field of Request");
    const badRequest = body.details?.find(({ type }) => type === "google.rpc.BadRequest");
    const { fieldViolations } = fromBinary(BadRequestSchema, Buffer.from(badRequest?.value ?? "", "base64"));
    expect(fieldViolations.map(({ field, description }) => [field, description])).toEqual([
      ["model", "expected a string, found 7"],
      ["max_token", 'is not a field of Request; did you mean "maxTokens"?'],
      ["messages[0].role", expect.stringMatching(/^expected one of ROLE_SYSTEM, ROLE_USER, .*found "user"$/)],
      [
        "messages[1].content[0].image",
        "expected once, found together with text, which sets the same oneof (part)",
      ],
    ]);
  });

  it("as text that is not JSON is rejected with a message", async () => {
    const server = await startAnswering();
    const { status, body } = await postJson(server, "Complete", `{"model"`);
    expect([status, body.message]).toEqual([400, expect.stringContaining("the request is not valid JSON")]);
  });

  it("as bytes that are not a message is the caller's mistake", async () => {
    const server = await startAnswering();
    const response = await fetch(`${server.url}${inferencePath("Complete")}`, {
      method: "POST",
      headers: { "content-type": "application/proto" },
      body: Buffer.from([0x0a, 9, 1]),
    });
    const body = (await response.json()) as FailedCall;
    expect([response.status, body.code]).toEqual([400, "invalid_argument"]);
    expect(body.message).toContain("not a message in protobuf's binary format");
    expect(body.details?.map(({ type }) => type)).toContain("outrigger.v1.InferenceError");
  });

  it("in JSON does not come back whole", async () => {
    const server = await startAnswering();
    const { body } = await postJson(server, "Complete", `{"messages": "${"y".repeat(100_000)}"}`);
    expect(JSON.stringify(body).length).toBeLessThan(4096);
  });

  it.each([
    ["is read if it is compressed", 1, 1, "0"],
    ["is rejected if it is said to be plain and is compressed", 0, 1, "3"],
    ["is rejected if it has too many elements when it is decompressed", 1, 20, "8"],
  ])("over gRPC-Web %s", async (_name, flag, count, status) => {
    const server = await startAnswering({ maxMessageElements: 10 });
    const stopSequences = Array.from({ length: count }, () => "x");
    const message = gzipSync(toBinary(RequestSchema, create(RequestSchema, { model: "m", stopSequences })));
    const response = await fetch(`${server.url}${inferencePath("Complete")}`, {
      method: "POST",
      headers: { "content-type": "application/grpc-web", "grpc-encoding": "gzip" },
      body: frame(message, flag),
    });
    const end = Buffer.from(await response.arrayBuffer()).toString("latin1");
    expect(response.headers.get("grpc-status") ?? /grpc-status: (\d+)/.exec(end)?.[1]).toBe(status);
  });

  it("of an unknown compression is UNIMPLEMENTED and names those that are known", async () => {
    const server = await startAnswering();
    const { trailers } = await exchange(
      server.url,
      inferencePath("Complete"),
      { "grpc-encoding": "zstd" },
      frame(Buffer.from("x"), 1),
    );
    const { code, message } = getGrpcStatus(trailers);
    expect(code).toBe(grpc.status.UNIMPLEMENTED);
    expect(message).toContain("gzip");
  });
});

describe("a deadline", () => {
  const minimal = frame(toBinary(RequestSchema, create(RequestSchema, { model: "m" })));

  /** Answers late enough for a timer that has wrapped around to run out first. */
  const startAnsweringLate = () =>
    servers.start({
      complete: async (call) => {
        await setTimeout(30);
        call.signal.throwIfAborted();
        return textResponse(call, "x");
      },
    });

  it.each(["99999999H", "99999999M", "99999999S"])("of %s is none", async (timeout) => {
    const server = await startAnsweringLate();
    const { trailers } = await exchange(
      server.url,
      inferencePath("Complete"),
      { "grpc-timeout": timeout },
      minimal,
    );
    expect(getGrpcStatus(trailers).code).toBe(grpc.status.OK);
  });

  it("of 9999999999 ms over Connect is none", async () => {
    const server = await startAnsweringLate();
    const headers = { ...JSON_TYPE, "connect-timeout-ms": "9999999999" };
    const response = await fetch(`${server.url}${inferencePath("Complete")}`, {
      method: "POST",
      headers,
      body: "{}",
    });
    expect(response.status).toBe(200);
  });

  it("that is not a time is INVALID_ARGUMENT", async () => {
    const server = await startAnswering();
    const { trailers } = await exchange(
      server.url,
      inferencePath("Complete"),
      { "grpc-timeout": "soon" },
      minimal,
    );
    expect(getGrpcStatus(trailers)).toMatchObject({
      code: grpc.status.INVALID_ARGUMENT,
      kind: ErrorKind.INVALID_REQUEST,
    });
  });

  it.each(["100m", "0m"])("of %s bounds a request whose body does not come", async (timeout) => {
    const server = await startAnswering();
    const session = http2.connect(server.url);
    servers.onEnd(() => session.destroy());
    const stream = openStream(session, inferencePath("Complete"), { "grpc-timeout": timeout });
    stream.write(minimal.subarray(0, 4));
    expect(getGrpcStatus((await readAnswer(stream)).trailers)).toMatchObject({
      code: grpc.status.DEADLINE_EXCEEDED,
      kind: ErrorKind.REQUEST_TIMEOUT,
    });
  });
});
