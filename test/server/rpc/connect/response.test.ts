import http2, { type ClientHttp2Stream } from "node:http2";
import net from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { RequestSchema } from "../../../../src/gen/outrigger/v1/request_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { TestService } from "../../../conformance/gen/grpc/testing/test_pb.ts";
import { frame, inferencePath, openStream, readAnswer } from "../../support/raw-http2.ts";
import { oneByOne, type ScriptedCall, silence, textEvents } from "../../support/scripted-inference.ts";
import { useTestServers } from "../../support/test-server.ts";
import { startTestService } from "../../support/test-service.ts";

const servers = useTestServers();

const REQUEST = frame(toBinary(RequestSchema, create(RequestSchema, { model: "m" })));

function connect(url: string, initialWindowSize?: number): http2.ClientHttp2Session {
  const session = http2.connect(
    url,
    initialWindowSize === undefined ? {} : { settings: { initialWindowSize } },
  );
  session.on("error", () => {});
  servers.onEnd(() => session.destroy());
  return session;
}

function callStream(session: http2.ClientHttp2Session): ClientHttp2Stream {
  const stream = openStream(session, inferencePath("Stream"));
  stream.on("error", () => {});
  stream.end(REQUEST);
  return stream;
}

describe("a client that does not read", () => {
  const STREAMS = 50;
  const EVENTS = 10_000;
  // Longest wait for all streams, on a busy machine.
  const BUSY_MS = 60_000;
  // The bytes that may be in transit on a stream without being read.
  const WINDOW_BYTES = 4096;

  it("holds up its provider instead of filling our memory", { timeout: 4 * BUSY_MS }, async () => {
    const taken = new Map<ScriptedCall, number>();
    const server = await servers.start({
      stream: (call) => countedTokens(call, { text: "x", count: EVENTS }, taken),
    });
    const session = connect(server.url, WINDOW_BYTES);
    const streams = Array.from({ length: STREAMS }, () => callStream(session).pause());
    await expect.poll(() => taken.size, { timeout: BUSY_MS }).toBe(STREAMS);
    await untilSteady(() => total(taken), BUSY_MS);
    // The window lets this much through, and one write has not left.
    const frameBytes = 5 + toBinary(StreamEventSchema, tokenEvent("x")).byteLength;
    const most = Math.max(...taken.values());
    expect(most * frameBytes).toBeLessThanOrEqual(WINDOW_BYTES + frameBytes);
    for (const stream of streams) stream.close(http2.constants.NGHTTP2_CANCEL);
    const cancelled = () => server.log.filter((line) => line.code === "CANCELLED").length;
    await expect.poll(cancelled, { timeout: BUSY_MS }).toBe(STREAMS);
  });

  it("gets everything in order once it reads again", async () => {
    const taken = new Map<ScriptedCall, number>();
    const server = await servers.start({
      stream: (call) => countedTokens(call, { text: "x", count: EVENTS }, taken),
    });
    const stream = callStream(connect(server.url)).pause();
    await expect.poll(() => total(taken)).toBeGreaterThan(100);
    await untilSteady(() => total(taken));
    expect(total(taken)).toBeLessThan(EVENTS);
    stream.resume();
    const { body, trailers } = await readAnswer(stream);
    expect(trailers["grpc-status"]).toBe("0");
    expect(countFrames(body)).toBe(EVENTS + 4);
  });

  const LARGE = "x".repeat(16 * 1024);

  it("over HTTP/1.1 holds up its provider as well", async () => {
    const taken = new Map<ScriptedCall, number>();
    const server = await servers.start({
      stream: (call) => countedTokens(call, { text: LARGE, count: EVENTS }, taken),
    });
    const [host = "", port = ""] = server.authority.split(":");
    const socket = net.connect(Number(port), host).pause();
    servers.onEnd(() => socket.destroy());
    socket.write(
      `POST ${inferencePath("Stream")} HTTP/1.1\r\nHost: x\r\nContent-Type: application/connect+proto\r\n` +
        `Content-Length: ${REQUEST.byteLength}\r\n\r\n`,
    );
    socket.write(REQUEST);
    await expect.poll(() => total(taken)).toBeGreaterThan(10);
    await untilSteady(() => total(taken));
    // The kernel's buffers take this much.
    expect(total(taken) * LARGE.length).toBeLessThan(32 * 1024 * 1024);
  });
});

describe("events that are ready together", () => {
  it("leave in one piece", async () => {
    const server = await servers.start({
      stream: async function* (call) {
        const events = textEvents(call, ["a", "b", "c", "d"]);
        yield events.slice(0, 1);
        yield events.slice(1, 6);
        yield events.slice(6);
      },
    });
    const stream = callStream(connect(server.url));
    const pieces: number[] = [];
    stream.on("data", (chunk: Buffer) => pieces.push(countFrames(chunk)));
    await readAnswer(stream);
    expect(pieces).toEqual([1, 5, 2]);
  });

  it("leave in pieces if they are large", async () => {
    const server = await servers.start({
      stream: async function* (call) {
        yield textEvents(
          call,
          Array.from({ length: 8 }, () => "x".repeat(40_000)),
        );
      },
    });
    const stream = callStream(connect(server.url));
    const { body } = await readAnswer(stream);
    expect(countFrames(body)).toBe(12);
  });
});

describe("a client that cancels a lot", () => {
  // More than Node's limit of 1000, by which it takes a busy client for an attacker.
  const CANCELS = 1500;

  it("does not lose its other calls on the same connection", async () => {
    const go = Promise.withResolvers<void>();
    const server = await servers.start({
      stream: async function* (call) {
        const events = textEvents(call, ["a"]);
        yield events.slice(0, 1);
        await (server.inference.calls.length === 1 ? go.promise : silence(call.signal));
        yield events.slice(1);
      },
    });
    const session = connect(server.url);
    const bystander = readAnswer(callStream(session));
    await expect.poll(() => server.inference.calls.length).toBe(1);
    await cancelMany(session, CANCELS);
    go.resolve();
    expect((await bystander).trailers["grpc-status"]).toBe("0");
  });

  it("is cut off at the limit", async () => {
    const server = await servers.start(
      { stream: (call) => oneByOne(textEvents(call, ["a"])) },
      { limits: { streamResetBurst: 10, streamResetRate: 1 } },
    );
    const session = connect(server.url);
    const closed = new Promise((resolve) => session.once("close", resolve));
    await cancelMany(session, 200);
    await closed;
    expect(session.destroyed).toBe(true);
  });
});

/** A stream of `count` deltas, one by one, that counts the deltas that were requested. */
async function* countedTokens(
  call: ScriptedCall,
  { text, count }: { text: string; count: number },
  taken: Map<ScriptedCall, number>,
): AsyncGenerator<readonly StreamEvent[]> {
  yield textEvents(call, []).slice(0, 2);
  for (let index = 0; index < count; index += 1) {
    taken.set(call, index + 1);
    yield [tokenEvent(text)];
  }
  yield textEvents(call, []).slice(2);
}

function tokenEvent(delta: string): StreamEvent {
  return create(StreamEventSchema, {
    sequence: 1,
    event: { case: "textDelta", value: { partIndex: 0, delta } },
  });
}

function total(taken: ReadonlyMap<ScriptedCall, number>): number {
  return [...taken.values()].reduce((sum, count) => sum + count, 0);
}

/** Waits until a number has not changed for a while. */
async function untilSteady(read: () => number, timeout = 5000): Promise<void> {
  let last = -1;
  await expect
    .poll(
      () => {
        const steady = read() === last;
        last = read();
        return steady;
      },
      { interval: 150, timeout },
    )
    .toBe(true);
}

function countFrames(bytes: Buffer): number {
  let count = 0;
  for (let offset = 0; offset + 5 <= bytes.length; offset += 5 + bytes.readUInt32BE(offset + 1)) count += 1;
  return count;
}

/** Opens streams and cancels each once it has its first headers, fifty at a time. */
async function cancelMany(session: http2.ClientHttp2Session, count: number): Promise<void> {
  for (let sent = 0; sent < count && !session.destroyed && !session.closed; sent += 50) {
    await Promise.all(Array.from({ length: 50 }, () => cancelOne(session)));
  }
}

function cancelOne(session: http2.ClientHttp2Session): Promise<void> {
  return new Promise((resolve) => {
    const stream = callStream(session);
    stream.once("close", resolve);
    stream.once("response", () => stream.close(http2.constants.NGHTTP2_CANCEL));
  });
}

it("an answer that Connect cannot encode is logged as a bug of the service", async () => {
  const service = await startTestService({ unaryCall: () => ({ grpclbRouteType: 1.5 as never }) });
  servers.onEnd(() => service.close());
  const client = createClient(
    TestService,
    createConnectTransport({ baseUrl: service.url, httpVersion: "1.1" }),
  );
  await expect(client.unaryCall({})).rejects.toMatchObject({ code: Code.Internal });
  await expect.poll(() => service.log.at(-1)).toMatchObject({ msg: "call failed", code: "INTERNAL" });
});
