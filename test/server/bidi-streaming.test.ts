/** A bidirectional method of another contract, over our gRPC transport and over Connect on HTTP/2. */
import { once } from "node:events";
import { connect, constants } from "node:http2";
import { setTimeout } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type HandlerContext, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { type Batches, BatchStream } from "../../src/core/batches.ts";
import {
  type StreamingOutputCallRequest,
  type StreamingOutputCallResponse,
  StreamingOutputCallResponseSchema,
} from "../conformance/gen/grpc/testing/messages_pb.ts";
import { TestService } from "../conformance/gen/grpc/testing/test_pb.ts";
import { FRAME, FrameConnection } from "./support/raw-frames.ts";
import { useTestServers } from "./support/test-server.ts";
import { startTestService } from "./support/test-service.ts";

const servers = useTestServers();

const TRANSPORTS = {
  gRPC: (baseUrl: string) => createGrpcTransport({ baseUrl }),
  "Connect over HTTP/2": (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "2" }),
  "Connect with JSON": (baseUrl: string) =>
    createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: false }),
  "gRPC-Web over HTTP/2": (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
};

const PATH = "/grpc.testing.TestService/FullDuplexCall";

type Requests = AsyncIterable<StreamingOutputCallRequest>;
type FullDuplexCall = (
  requests: Requests,
  context: HandlerContext,
) => AsyncIterable<StreamingOutputCallResponse>;

/** An answer whose body has that many bytes. */
function toAnswer(size: number): StreamingOutputCallResponse {
  return create(StreamingOutputCallResponseSchema, { payload: { body: new Uint8Array(size) } });
}

function getSize({ responseParameters }: StreamingOutputCallRequest): number {
  return responseParameters[0]?.size ?? 0;
}

/** Requests that a test sends one by one. */
class Sender implements AsyncIterable<{ responseParameters: { size: number }[] }> {
  sent = 0;
  readonly #queue: number[] = [];
  #ended = false;
  #wake = Promise.withResolvers<void>();

  send(size: number): void {
    this.#queue.push(size);
    this.#wake.resolve();
  }

  end(): void {
    this.#ended = true;
    this.#wake.resolve();
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      const size = this.#queue.shift();
      if (size !== undefined) {
        yield { responseParameters: [{ size }] };
        this.sent += 1;
      } else if (this.#ended) return;
      else {
        this.#wake = Promise.withResolvers();
        await this.#wake.promise;
      }
    }
  }
}

async function start(fullDuplexCall: FullDuplexCall) {
  const service = await startTestService({ fullDuplexCall });
  servers.onEnd(() => service.close());
  return service;
}

/** Opens a call. `next` gives the size of the next answer; undefined at the end. */
function open(transport: Transport, requests: Sender) {
  const client = createClient(TestService, transport);
  const answers = client.fullDuplexCall(requests)[Symbol.asyncIterator]();
  return {
    async next(): Promise<number | undefined> {
      const { done, value } = await answers.next();
      return done ? undefined : value.payload?.body.byteLength;
    },
  };
}

describe.each(Object.entries(TRANSPORTS))("a bidirectional call over %s", (_name, transportTo) => {
  it("is answered before the client has ended its requests, message by message", async () => {
    const { url } = await start(async function* (requests) {
      for await (const request of requests) yield toAnswer(getSize(request) + 1);
    });
    const requests = new Sender();
    const call = open(transportTo(url), requests);
    for (const size of [10, 20, 30]) {
      requests.send(size);
      expect(await call.next()).toBe(size + 1);
    }
    requests.end();
    expect(await call.next()).toBeUndefined();
  });

  it("is answered after the client has ended its requests", async () => {
    const { url } = await start(async function* (requests) {
      const sizes: number[] = [];
      for await (const request of requests) sizes.push(getSize(request));
      for (const size of sizes.reverse()) yield toAnswer(size);
    });
    const requests = new Sender();
    const call = open(transportTo(url), requests);
    requests.send(1);
    requests.send(2);
    requests.end();
    expect([await call.next(), await call.next(), await call.next()]).toEqual([2, 1, undefined]);
  });

  it("sends messages of a service while the client is silent", async () => {
    const { url } = await start(async function* () {
      yield toAnswer(1);
      await setTimeout(10);
      yield toAnswer(2);
    });
    const requests = new Sender();
    requests.send(0);
    const call = open(transportTo(url), requests);
    expect([await call.next(), await call.next(), await call.next()]).toEqual([1, 2, undefined]);
    requests.end();
  });

  it("has the service's error after the messages that came before", async () => {
    const { url } = await start(async function* (requests) {
      for await (const request of requests) {
        if (getSize(request) === 0) throw new ConnectError("zero", Code.OutOfRange);
        yield toAnswer(getSize(request));
      }
    });
    const requests = new Sender();
    const call = open(transportTo(url), requests);
    requests.send(3);
    expect(await call.next()).toBe(3);
    requests.send(0);
    await expect(call.next()).rejects.toMatchObject({ code: Code.OutOfRange, rawMessage: "zero" });
    requests.end();
  });

  it("holds back a client whose requests are not read", async () => {
    const { promise: proceed, resolve } = Promise.withResolvers<void>();
    const { url } = await start(async function* (requests) {
      await proceed;
      let count = 0;
      for await (const { payload } of requests) count += payload?.body.byteLength === 10_000 ? 1 : 0;
      yield toAnswer(count);
    });
    let sent = 0;
    const client = createClient(TestService, transportTo(url));
    const body = new Uint8Array(10_000);
    const requests = (async function* () {
      for (; sent < 300; sent += 1) yield { payload: { body } };
    })();
    const answers = client.fullDuplexCall(requests)[Symbol.asyncIterator]();
    const first = answers.next();
    await setTimeout(300);
    // Less than the 3 MB: what the window of the stream takes (256 KiB), and the buffers on both sides.
    expect(sent).toBeLessThan(150);
    resolve();
    expect((await first).value.payload.body.byteLength).toBe(300);
    expect((await answers.next()).done).toBe(true);
  });

  it("waits for a client that does not read its answers", async () => {
    let given = 0;
    const { url } = await start(async function* () {
      for (; given < 200; given += 1) yield toAnswer(20_000);
    });
    const requests = new Sender();
    requests.send(0);
    requests.end();
    const call = open(transportTo(url), requests);
    expect(await call.next()).toBe(20_000);
    await setTimeout(200);
    expect(given).toBeLessThan(60);
    let count = 1;
    while ((await call.next()) !== undefined) count += 1;
    expect(count).toBe(200);
  });

  it("sends messages that became ready together in the order of their batches", async () => {
    async function* batches(requests: Requests): Batches<StreamingOutputCallResponse> {
      for await (const request of requests) {
        const size = getSize(request);
        yield [toAnswer(size), toAnswer(size + 1), toAnswer(size + 2)];
      }
    }
    const { url } = await start((requests) => new BatchStream(batches(requests)));
    const requests = new Sender();
    const call = open(transportTo(url), requests);
    for (const size of [100, 200]) {
      requests.send(size);
      expect([await call.next(), await call.next(), await call.next()]).toEqual([size, size + 1, size + 2]);
    }
    requests.end();
    expect(await call.next()).toBeUndefined();
  });
});

it.each(["application/grpc", "application/connect+proto", "application/grpc-web+proto"])(
  "a client that cancels (%s) ends the service's reading with an error, and aborts its signal",
  async (contentType) => {
    const { promise: failed, resolve } = Promise.withResolvers<{ error: unknown; aborted: boolean }>();
    const service = await start(async function* (requests, { signal }) {
      try {
        for await (const request of requests) yield toAnswer(getSize(request));
      } catch (error) {
        resolve({ error, aborted: signal.aborted });
        throw error;
      }
    });
    // Node's client ends its requests before it resets a stream; our raw frames do not.
    const peer = new FrameConnection(service.url);
    servers.onEnd(() => peer.destroy());
    peer.call(1, PATH, { "content-type": contentType });
    peer.send(FRAME.data, 0, 1, Buffer.alloc(5));
    await expect.poll(() => peer.of(1).some(({ type }) => type === FRAME.data)).toBe(true);
    peer.send(FRAME.reset, 0, 1, Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL]));
    expect(await failed).toMatchObject({ aborted: true });
    await expect
      .poll(() => service.log.at(-1))
      .toMatchObject({ code: "CANCELLED", msg: "client disconnected" });
  },
);

it("Connect on HTTP/2 sends a batch of a service in one write", async () => {
  const { promise: firstRead, resolve } = Promise.withResolvers<void>();
  const { url } = await start(
    () =>
      new BatchStream(
        (async function* () {
          yield [toAnswer(1), toAnswer(2), toAnswer(3)];
          await firstRead;
          yield [toAnswer(4)];
        })(),
      ),
  );
  const session = connect(url);
  servers.onEnd(() => session.destroy());
  const headers = { ":method": "POST", ":path": PATH, "content-type": "application/connect+proto" };
  const stream = session.request(headers);
  stream.end(Buffer.alloc(5));
  const reads: number[] = [];
  stream.on("data", (chunk: Buffer) => {
    reads.push(chunk.byteLength);
    resolve();
  });
  await once(stream, "end");
  const toBytes = (size: number) => 5 + 4 + size;
  expect(reads.slice(0, 2)).toEqual([toBytes(1) + toBytes(2) + toBytes(3), toBytes(4)]);
});
