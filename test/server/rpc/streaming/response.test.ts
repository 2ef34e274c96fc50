import http2, { type ClientHttp2Stream } from "node:http2";
import net from "node:net";
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { RequestSchema } from "../../../../src/gen/outrigger/v1/request_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { frame, inferencePath, openStream, splitFrames } from "../../support/raw-http2.ts";
import { type ScriptedCall, textEvents } from "../../support/scripted-inference.ts";
import { useTestServers } from "../../support/test-server.ts";

const servers = useTestServers();

const request = create(RequestSchema, { model: "m" });
const BINARY = frame(toBinary(RequestSchema, request));
const JSON_TEXT = toJsonString(RequestSchema, request);

/** Every form of a stream that is not gRPC: its headers and its request. */
const FORMS: Readonly<Record<string, readonly [Readonly<Record<string, string>>, Buffer]>> = {
  "Connect's binary form": [{ "content-type": "application/connect+proto" }, BINARY],
  "Connect JSON": [{ "content-type": "application/connect+json" }, frame(Buffer.from(JSON_TEXT))],
  "gRPC-Web": [{ "content-type": "application/grpc-web" }, BINARY],
  "gRPC-Web as text": [
    { "content-type": "application/grpc-web-text" },
    Buffer.from(BINARY.toString("base64")),
  ],
  "server-sent events": [
    { "content-type": "application/json", accept: "text/event-stream" },
    Buffer.from(JSON_TEXT),
  ],
  "JSON lines": [
    { "content-type": "application/json", accept: "application/x-ndjson" },
    Buffer.from(JSON_TEXT),
  ],
};

function callOverHttp2(
  url: string,
  [headers, body]: readonly [Readonly<Record<string, string>>, Buffer],
  initialWindowSize = 65_535,
): ClientHttp2Stream {
  const session = http2.connect(url, { settings: { initialWindowSize } });
  session.on("error", () => {});
  servers.onEnd(() => session.destroy());
  const stream = openStream(session, inferencePath("Stream"), headers);
  stream.on("error", () => {});
  stream.end(body);
  return stream;
}

describe.each(Object.entries(FORMS))("a stream as %s", (_name, form) => {
  it("sends the events that are ready together in one frame of HTTP/2", async () => {
    const server = await servers.start({ stream: inThreeBatches });
    const pieces: Buffer[] = [];
    const stream = callOverHttp2(server.url, form);
    stream.on("data", (chunk: Buffer) => pieces.push(chunk));
    await new Promise((resolve) => stream.once("close", resolve));
    // A status that follows has a separate frame.
    expect(pieces.length).toBeGreaterThanOrEqual(3);
    expect(pieces.length).toBeLessThanOrEqual(4);
  });

  it("sends the events that are ready together in one chunk of HTTP/1.1", async () => {
    const server = await servers.start({ stream: inThreeBatches });
    const [headers, body] = form;
    const answer = await exchangeOverHttp1(server.authority, headers, body);
    const chunks = sizesOfChunks(answer);
    expect(chunks.length).toBeGreaterThanOrEqual(3);
    expect(chunks.length).toBeLessThanOrEqual(4);
  });

  it("takes at most one write more from the provider than its reader takes", async () => {
    const WINDOW_BYTES = 4096;
    const EVENT_BYTES = 1000;
    let taken = 0;
    const server = await servers.start({
      stream: async function* (call) {
        yield textEvents(call, []).slice(0, 2);
        for (let index = 0; index < 1000; index += 1) {
          taken = index + 1;
          yield [delta(index + 2, "x".repeat(EVENT_BYTES))];
        }
      },
    });
    const stream = callOverHttp2(server.url, form, WINDOW_BYTES).pause();
    await expect.poll(() => taken).toBeGreaterThan(1);
    let last = -1;
    await expect
      .poll(
        () => {
          const isSteady = taken === last;
          last = taken;
          return isSteady;
        },
        { interval: 200, timeout: 10_000 },
      )
      .toBe(true);
    // One write that is not flushed, and one event that waits for it.
    expect(taken).toBeLessThanOrEqual(Math.ceil(WINDOW_BYTES / EVENT_BYTES) + 2);
    stream.close(http2.constants.NGHTTP2_CANCEL);
    await expect.poll(() => server.log.at(-1)).toMatchObject({ code: "CANCELLED" });
  });
});

describe("a stream of Connect over HTTP/1.1", () => {
  it("ends with an end-stream message behind the last event", async () => {
    const server = await servers.start({ stream: inThreeBatches });
    const response = await fetch(server.url + inferencePath("Stream"), {
      method: "POST",
      headers: { "content-type": "application/connect+json" },
      body: new Uint8Array(frame(Buffer.from(JSON_TEXT))),
    });
    const frames = splitFrames(Buffer.from(await response.arrayBuffer()));
    expect(frames.map(({ flags }) => flags)).toEqual([0, 0, 0, 0, 0, 0, 0, 2]);
    const end = JSON.parse(String(frames.at(-1)?.message));
    expect(end).toEqual({ metadata: { "outrigger-timing": [expect.any(String)] } });
  });
});

async function* inThreeBatches(call: ScriptedCall) {
  const events = textEvents(call, ["a", "b", "c"]);
  yield events.slice(0, 1);
  yield events.slice(1, 5);
  yield events.slice(5);
}

function delta(sequence: number, text: string): StreamEvent {
  return create(StreamEventSchema, {
    sequence,
    event: { case: "textDelta", value: { partIndex: 0, delta: text } },
  });
}

function exchangeOverHttp1(
  authority: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): Promise<string> {
  const [host = "", port = ""] = authority.split(":");
  const socket = net.connect(Number(port), host);
  servers.onEnd(() => socket.destroy());
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(
    `POST ${inferencePath("Stream")} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
      `Content-Length: ${body.byteLength}\r\n${lines.join("")}\r\n`,
  );
  socket.write(body);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  return new Promise((resolve) =>
    socket.once("close", () => resolve(Buffer.concat(chunks).toString("latin1"))),
  );
}

/** The sizes of the chunks of a response, without the empty one that ends it. */
function sizesOfChunks(answer: string): number[] {
  const sizes: number[] = [];
  for (let at = answer.indexOf("\r\n\r\n") + 4; at < answer.length; ) {
    const end = answer.indexOf("\r\n", at);
    const size = Number.parseInt(answer.slice(at, end), 16);
    if (size === 0) return sizes;
    sizes.push(size);
    at = end + 2 + size + 2;
  }
  throw new Error("the last chunk is missing");
}
