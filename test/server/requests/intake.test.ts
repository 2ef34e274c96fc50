import http2 from "node:http2";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemoryAccount } from "../../../src/core/memory-account.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { DEFAULT_LIMITS } from "../../../src/server/base/limits.ts";
import { UnsentResponses } from "../../../src/server/http/flushed-response.ts";
import { createOriginCheck } from "../../../src/server/http/origin.ts";
import { createRequestHandler, RequestChecks } from "../../../src/server/http/request-handler.ts";
import { openListener } from "../../../src/server/listen/listener.ts";
import { createIntake } from "../../../src/server/requests/intake.ts";
import { createConnectRoutes } from "../../../src/server/rpc/connect/connect-api.ts";
import { createGrpcTransport } from "../../../src/server/rpc/grpc/transport.ts";
import { createInferenceService } from "../../../src/server/services/inference-service.ts";
import { frame, inferencePath, openStream, readAnswer } from "../support/raw-http2.ts";
import { oneByOne, scriptedInference, textEvents, textResponse } from "../support/scripted-inference.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

const KIB = 1024;

/** A data listener whose memory for requests can be inspected. */
async function open() {
  const limits = {
    ...DEFAULT_LIMITS,
    maxRequestMemoryBytes: 200 * KIB,
    maxCalls: 20,
    maxMessageBytes: 400 * KIB,
  };
  const account = new MemoryAccount({ limits });
  const intake = createIntake(limits, account);
  const unsent = new UnsentResponses(account);
  const inference = scriptedInference({
    complete: async (call) => textResponse(call, "x"),
    stream: (call) => oneByOne(textEvents(call, ["a", "b"])),
  });
  const services = [createInferenceService(inference)];
  const connect = createConnectRoutes({ services, intake, unsent, compressions: ["gzip", "br"] });
  const listener = await openListener({
    field: "listen",
    addresses: ["127.0.0.1:0"],
    intake,
    handler: createRequestHandler(
      new RequestChecks({
        routes: [connect],
        checkHost: () => true,
        checkOrigin: createOriginCheck(undefined),
        observers: [],
      }),
    ),
    streams: createGrpcTransport({ services, intake, unsent, observers: [] }),
  });
  servers.onEnd(() => listener.close());
  return { url: `http://${listener.addresses[0]}`, intake, unsent };
}

const messages = fc.nat({ max: 300 * KIB }).map((bytes) => ({
  model: "m",
  messages: [{ role: Role.USER, content: [{ part: { case: "text", value: "x".repeat(bytes) } as const }] }],
}));

const binary = messages.map((init) => Buffer.from(toBinary(RequestSchema, create(RequestSchema, init))));
const json = messages.map(({ messages: [message] }) =>
  Buffer.from(
    JSON.stringify({
      model: "m",
      messages: [{ role: "ROLE_USER", content: [{ text: message?.content[0]?.part.value }] }],
    }),
  ),
);

/** A valid body, with some of its bytes changed. */
function mutated(bodies: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const changes = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 3 });
  return fc.tuple(bodies, changes).map(([body, places]) => {
    const copy = Buffer.from(body);
    for (const [at, byte] of places) if (copy.byteLength > 0) copy[at % copy.byteLength] = byte;
    return copy;
  });
}

const anyBody = fc.oneof(
  mutated(binary),
  mutated(json),
  fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
);

const encodings = {
  identity: (body: Buffer) => body,
  gzip: (body: Buffer) => gzipSync(body),
  br: (body: Buffer) => brotliCompressSync(body.subarray(0, 2000)),
} as const;

const requests = fc.record({
  method: fc.constantFrom("Complete", "Stream"),
  type: fc.constantFrom(
    "application/grpc",
    "application/grpc-web+proto",
    "application/grpc-web-text",
    "application/json",
    "application/proto",
    "application/connect+json",
    "application/connect+proto",
  ),
  encoding: fc.constantFrom(...(Object.keys(encodings) as (keyof typeof encodings)[])),
  body: anyBody,
  lie: fc.constantFrom(0, 0, 0, 100 * KIB, -1),
  end: fc.constantFrom("ends", "ends", "ends", "is reset", "goes on", "breaks off"),
});

type AnyRequest = typeof requests extends fc.Arbitrary<infer Value> ? Value : never;

const ENCODING_HEADERS = ["content-encoding", "grpc-encoding", "connect-content-encoding"];

async function send(session: http2.ClientHttp2Session, request: AnyRequest): Promise<void> {
  const { method, type, encoding, body, lie, end } = request;
  const headers = Object.fromEntries(ENCODING_HEADERS.map((name) => [name, encoding]));
  const stream = openStream(session, inferencePath(method), { ...headers, "content-type": type });
  stream.on("error", () => {});
  const closed = new Promise((resolve) => stream.once("close", resolve));
  const encoded = encodings[encoding](body);
  const isFramed = /grpc|connect/.test(type);
  const flags = encoding === "identity" ? 0 : 1;
  const bytes = isFramed ? frame(encoded, flags, Math.max(0, encoded.byteLength + lie)) : encoded;
  stream.write(type.endsWith("text") ? bytes.toString("base64") : bytes);
  if (end === "ends") await readAnswer(stream.end()).catch(() => {});
  else if (end === "is reset") stream.close(http2.constants.NGHTTP2_CANCEL);
  else if (end === "breaks off") session.destroy();
  else return;
  await closed;
}

describe("the memory of requests", () => {
  it("is released completely, for any requests and any end", {
    timeout: 60_000,
  }, async () => {
    const { url, intake, unsent } = await open();
    const property = fc.asyncProperty(fc.array(requests, { minLength: 1, maxLength: 6 }), async (calls) => {
      const session = http2.connect(url).on("error", () => {});
      await Promise.all(calls.map((call) => send(session, call)));
      session.destroy();
      const held = () => [intake.memory.usedBytes, intake.memory.calls, unsent.bytes];
      await expect.poll(held, { timeout: 5000, interval: 1 }).toEqual([0, 0, 0]);
    });
    await fc.assert(property, { numRuns: 150 });
  });
});

describe("the admin port", () => {
  it("answers any request, and then the next probe", { timeout: 60_000 }, async () => {
    const server = await servers.start();
    const paths = [
      "/grpc.health.v1.Health/Check",
      "/grpc.health.v1.Health/Watch",
      "/livez",
      "/metrics",
      "/%00",
    ];
    const property = fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.constantFrom("application/json", "application/proto", "application/connect+json", "text/plain"),
      fc.constantFrom("identity", "gzip", "br", "x"),
      fc.uint8Array({ maxLength: 5000 }),
      async (path, type, encoding, body) => {
        const response = await fetch(`${server.adminUrl}${path}`, {
          method: "POST",
          headers: { "content-type": type, "content-encoding": encoding },
          body: Buffer.from(body),
        });
        expect(response.status).toBeGreaterThanOrEqual(200);
        await response.body?.cancel();
        expect((await fetch(`${server.adminUrl}/livez`)).status).toBe(200);
      },
    );
    await fc.assert(property, { numRuns: 150 });
  });
});
