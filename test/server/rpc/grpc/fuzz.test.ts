/**
 * Bytes that no well-behaved client sends. Each call must end in a gRPC status or a reset, release its resources, and
 * not affect the next call.
 */
import http2 from "node:http2";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { END_STREAM, FRAME, FrameConnection } from "../../support/raw-frames.ts";
import { frame, openStream, readAnswer } from "../../support/raw-http2.ts";
import { useTestServers } from "../../support/test-server.ts";
import { type RunningTestService, startTestService } from "../../support/test-service.ts";

const servers = useTestServers();

const MAX_MESSAGE_BYTES = 2000;
const METHODS = ["EmptyCall", "UnaryCall", "StreamingOutputCall", "StreamingInputCall", "FullDuplexCall"];

async function start(): Promise<RunningTestService> {
  const service = await startTestService(
    {
      emptyCall: () => ({}),
      unaryCall: ({ responseSize }) => ({ payload: { body: new Uint8Array(Math.abs(responseSize) % 100) } }),
      async *streamingOutputCall({ responseParameters }) {
        for (const _ of responseParameters) yield {};
      },
      async streamingInputCall(requests) {
        let aggregatedPayloadSize = 0;
        for await (const { payload } of requests) aggregatedPayloadSize += payload?.body.byteLength ?? 0;
        return { aggregatedPayloadSize };
      },
      async *fullDuplexCall(requests) {
        for await (const _ of requests) yield {};
      },
    },
    { maxMessageBytes: MAX_MESSAGE_BYTES },
  );
  servers.onEnd(() => service.close());
  return service;
}

function toPath(method: string): string {
  return `/grpc.testing.TestService/${method}`;
}

const payload = fc.oneof(
  fc.uint8Array({ maxLength: 60 }),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => new Uint8Array(gzipSync(bytes))),
  // A string field of invalid UTF-8, and a length that reaches beyond the message.
  fc.constantFrom(Uint8Array.of(0x12, 2, 0xc3, 0x28), Uint8Array.of(0x1a, 0x7f, 1), new Uint8Array(3000)),
  fc.constant(new Uint8Array(gzipSync(new Uint8Array(100_000)))),
);

const lyingFrame = fc
  .tuple(payload, fc.constantFrom(0, 0, 0, 1, 2, 255), fc.constantFrom(0, 0, 0, -1, 1, 100, 2 ** 31))
  .map(([bytes, flags, lie]) => frame(bytes, flags, Math.max(0, bytes.byteLength + lie)));

const body = fc.array(lyingFrame, { maxLength: 4 }).map((frames) => Buffer.concat(frames));

const headers = fc.record(
  {
    "grpc-encoding": fc.constantFrom("gzip", "identity", "br", "", "x".repeat(1000)),
    "grpc-timeout": fc.constantFrom("5S", "soon", "99999999H", "-1S", "1".repeat(100)),
    "grpc-accept-encoding": fc.constantFrom("gzip", ",,,", "identity"),
    "trace-bin": fc.constantFrom("AAE=", "%%%", "\u00ff\u00fe"),
    "x-long": fc.constantFrom("a".repeat(10_000), "b"),
  },
  { requiredKeys: [] },
);

/** Splits bytes at the given places. */
function splitAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...cuts.map((cut) => cut % (bytes.byteLength + 1)), bytes.byteLength].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

async function expectServed(service: RunningTestService): Promise<void> {
  const session = http2.connect(service.url);
  const stream = openStream(session, toPath("EmptyCall"));
  stream.end(frame(new Uint8Array()));
  expect((await readAnswer(stream)).trailers["grpc-status"]).toBe("0");
  session.destroy();
  for (let tries = 0; tries < 1000 && !service.metrics.render().includes("outrigger_inflight 0"); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect(service.metrics.render()).toContain("outrigger_inflight 0");
  expect(service.log.filter((line) => "fault" in line)).toEqual([]);
}

describe("a request of any bytes", () => {
  it("has a status, however it is split", async () => {
    const service = await start();
    const session = http2.connect(service.url);
    servers.onEnd(() => session.destroy());
    const property = fc.asyncProperty(
      fc.constantFrom(...METHODS),
      headers,
      body,
      fc.array(fc.nat(), { maxLength: 5 }),
      async (method, fields, bytes, cuts) => {
        const stream = openStream(session, toPath(method), fields as Record<string, string>);
        for (const chunk of splitAt(bytes, cuts)) stream.write(chunk);
        stream.end();
        const { trailers } = await readAnswer(stream);
        expect(trailers["grpc-status"]).toMatch(/^(?:0|3|8|12|13)$/);
      },
    );
    await fc.assert(property, { numRuns: 300 });
    await expectServed(service);
  });

  it("has a status split at every byte", async () => {
    const service = await start();
    const session = http2.connect(service.url);
    servers.onEnd(() => session.destroy());
    const bytes = Buffer.concat([frame(Buffer.from([8, 1])), frame(Buffer.from([8, 2]))]);
    for (let cut = 0; cut <= bytes.byteLength; cut++) {
      const stream = openStream(session, toPath("FullDuplexCall"));
      stream.write(bytes.subarray(0, cut));
      stream.end(bytes.subarray(cut));
      const { trailers, body: answer } = await readAnswer(stream);
      // Field 1 of this message is an enum, which takes any number.
      expect([trailers["grpc-status"], answer.byteLength]).toEqual(["0", 10]);
    }
    await expectServed(service);
  });

  it("of which the end never comes is dropped with its connection", async () => {
    const service = await start();
    const property = fc.asyncProperty(
      fc.constantFrom(...METHODS),
      body,
      fc.nat(),
      async (method, bytes, cut) => {
        const peer = new FrameConnection(service.url);
        peer.call(1, toPath(method));
        peer.send(FRAME.data, 0, 1, bytes.subarray(0, cut % (bytes.byteLength + 1)));
        await new Promise((resolve) => setTimeout(resolve, 2));
        peer.destroy();
        await peer.closed;
      },
    );
    await fc.assert(property, { numRuns: 60 });
    await expectServed(service);
  });
});

describe("a connection of any frames", () => {
  it("ends in answers, resets or GOAWAY, and releases all resources", async () => {
    const service = await start();
    const wildFrame = fc.record({
      type: fc.nat({ max: 12 }),
      flags: fc.nat({ max: 255 }),
      streamId: fc.constantFrom(0, 1, 3, 5, 2),
      payload: fc.uint8Array({ maxLength: 40 }),
      lie: fc.constantFrom(0, 0, 0, 5, 100_000),
    });
    const property = fc.asyncProperty(fc.array(wildFrame, { maxLength: 8 }), async (frames) => {
      const peer = new FrameConnection(service.url);
      peer.call(1, toPath("UnaryCall"));
      for (const { type, flags, streamId, payload: bytes, lie } of frames) {
        peer.send(type, flags, streamId, Buffer.from(bytes), bytes.byteLength + lie);
      }
      peer.send(FRAME.data, END_STREAM, 1, frame(new Uint8Array()));
      await new Promise((resolve) => setTimeout(resolve, 2));
      peer.destroy();
      await peer.closed;
    });
    await fc.assert(property, { numRuns: 100 });
    await expectServed(service);
  });

  it("with headers over the limit is rejected, and the next call is served", async () => {
    const service = await start();
    const session = http2.connect(service.url).on("error", () => {});
    servers.onEnd(() => session.destroy());
    const huge = Object.fromEntries(
      Array.from({ length: 90 }, (_, index) => [`x-${index}`, "a".repeat(1000)]),
    );
    const stream = openStream(session, toPath("EmptyCall"), huge);
    stream.end(frame(new Uint8Array()));
    await expect(readAnswer(stream)).rejects.toThrow();
    await expectServed(service);
  });
});
