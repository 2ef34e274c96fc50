/** Calls on the wire: raw streams of HTTP/2 against a service with every kind of method. */
import http2, { type ClientHttp2Session, type ClientHttp2Stream, constants } from "node:http2";
import { setTimeout } from "node:timers/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { RequestTimeoutError } from "../../../../src/core/errors.ts";
import type { Limits } from "../../../../src/server/base/limits.ts";
import {
  SimpleRequestSchema,
  SimpleResponseSchema,
  StreamingInputCallRequestSchema,
  StreamingOutputCallRequestSchema,
  type StreamingOutputCallResponse,
  StreamingOutputCallResponseSchema,
} from "../../../conformance/gen/grpc/testing/messages_pb.ts";
import { TestService } from "../../../conformance/gen/grpc/testing/test_pb.ts";
import { FRAME, FrameConnection } from "../../support/raw-frames.ts";
import { frame, openStream, readAnswer, splitFrames } from "../../support/raw-http2.ts";
import { useTestServers } from "../../support/test-server.ts";
import { startTestService } from "../../support/test-service.ts";

const servers = useTestServers();

type Implementation = Partial<ServiceImpl<typeof TestService>>;

async function connect(implementation: Implementation, limits: Partial<Limits> = {}) {
  const service = await startTestService(implementation, limits);
  servers.onEnd(() => service.close());
  const session = http2.connect(service.url).on("error", () => {});
  servers.onEnd(() => session.destroy());
  return { service, session };
}

function toPath(method: string): string {
  return `/grpc.testing.TestService/${method}`;
}

/** Opens a call and sends the bytes of its request, the end included. */
function call(
  session: ClientHttp2Session,
  method: string,
  body: Uint8Array,
  headers = {},
): ClientHttp2Stream {
  const stream = openStream(session, toPath(method), headers);
  stream.end(body);
  return stream;
}

const simpleRequest = frame(toBinary(SimpleRequestSchema, create(SimpleRequestSchema, { responseSize: 7 })));
const outputRequest = frame(
  toBinary(StreamingOutputCallRequestSchema, create(StreamingOutputCallRequestSchema)),
);
const inputRequest = frame(
  toBinary(
    StreamingInputCallRequestSchema,
    create(StreamingInputCallRequestSchema, { payload: { body: new Uint8Array(1000) } }),
  ),
);

function output(size: number): StreamingOutputCallResponse {
  return create(StreamingOutputCallResponseSchema, { payload: { body: new Uint8Array(size) } });
}

/** Resolves when something has become true; throws after ten seconds. */
async function until(what: () => boolean): Promise<void> {
  for (let waited = 0; waited < 10_000; waited += 5) {
    if (what()) return;
    await setTimeout(5);
  }
  throw new Error(`did not become true: ${what}`);
}

function closed(stream: ClientHttp2Stream): Promise<number | undefined> {
  return new Promise((resolve) => stream.once("close", () => resolve(stream.rstCode)));
}

describe("a unary call", () => {
  it("is answered with headers, one message and trailers", async () => {
    const { session } = await connect({
      unaryCall: ({ responseSize }) => ({ username: `asked for ${responseSize}` }),
    });
    const answer = await readAnswer(call(session, "UnaryCall", simpleRequest, { "x-request-id": "mine" }));
    const { ":status": status, date, ...headers } = answer.headers;
    expect({ status, date }).toEqual({ status: 200, date: undefined });
    expect(headers).toMatchObject({
      "content-type": "application/grpc",
      "grpc-accept-encoding": "gzip",
      "x-request-id": "mine",
    });
    const [only] = splitFrames(answer.body);
    expect(fromBinary(SimpleResponseSchema, only?.message ?? new Uint8Array()).username).toBe("asked for 7");
    expect(answer.trailers).toMatchObject({ "grpc-status": "0" });
    expect(answer.trailers).not.toHaveProperty("grpc-message");
  });

  it("is answered in the content type that it came with", async () => {
    const { session } = await connect({ emptyCall: () => ({}) });
    const type = { "content-type": "application/grpc+proto" };
    const { headers, trailers } = await readAnswer(call(session, "EmptyCall", frame(new Uint8Array()), type));
    expect(headers).toMatchObject(type);
    expect(trailers).toMatchObject({ "grpc-status": "0" });
  });

  it("gets the headers and trailers that the service sets, one field for each value", async () => {
    const { session } = await connect({
      emptyCall: (_request, { responseHeader, responseTrailer }) => {
        responseHeader.append("x-head", "1");
        responseHeader.append("x-head", "2");
        responseHeader.set("content-type", "text/plain");
        responseTrailer.set("x-tail-bin", "AAEC");
        return {};
      },
    });
    const { headers, trailers } = await readAnswer(call(session, "EmptyCall", frame(new Uint8Array())));
    expect(headers["x-head"]).toBe("1, 2");
    expect(headers["content-type"]).toBe("application/grpc");
    expect(trailers["x-tail-bin"]).toBe("AAEC");
  });

  it("without a message is answered, also if its body ends before its stream is served", async () => {
    const { session } = await connect({ emptyCall: () => ({}) });
    // More than are served in one turn.
    const calls = Array.from({ length: 40 }, () => readAnswer(call(session, "EmptyCall", Buffer.alloc(0))));
    for (const { trailers } of await Promise.all(calls))
      expect(trailers).toMatchObject({ "grpc-status": "12" });
  });

  it("that fails is answered by trailers only", async () => {
    const { session } = await connect({
      emptyCall: () => {
        throw new ConnectError("50 % of \u{1f600}\n", Code.DataLoss, { "x-why": "so", "grpc-status": "0" });
      },
    });
    const { headers, body } = await readAnswer(call(session, "EmptyCall", frame(new Uint8Array())));
    expect(body.byteLength).toBe(0);
    expect(headers).toMatchObject({
      ":status": 200,
      "content-type": "application/grpc",
      "grpc-status": "15",
      "grpc-message": "50%20%25%20of%20%F0%9F%98%80%0A",
      "x-why": "so",
    });
  });

  it("that fails after the service has set headers is answered by these, and then by trailers", async () => {
    const { session } = await connect({
      emptyCall: (_request, { responseHeader }) => {
        responseHeader.set("x-head", "1");
        throw new ConnectError("lost", Code.DataLoss);
      },
    });
    const { headers, trailers } = await readAnswer(call(session, "EmptyCall", frame(new Uint8Array())));
    expect(headers["x-head"]).toBe("1");
    expect(headers).not.toHaveProperty("grpc-status");
    expect(trailers).toMatchObject({ "grpc-status": "15", "grpc-message": "lost" });
  });

  it("is INTERNAL if a message has flags that gRPC does not define", async () => {
    const { session } = await connect({ emptyCall: () => ({}) });
    const { trailers } = await readAnswer(call(session, "EmptyCall", frame(new Uint8Array(), 2)));
    expect(trailers["grpc-status"]).toBe("13");
    expect(trailers["grpc-message"]).toContain("flags%202");
  });

  it("is INTERNAL if the service has a bug, and its message is not shown", async () => {
    const { service, session } = await connect({
      emptyCall: () => {
        throw new Error("secret");
      },
    });
    const { trailers } = await readAnswer(call(session, "EmptyCall", frame(new Uint8Array())));
    expect(trailers).toMatchObject({ "grpc-status": "13", "grpc-message": "internal%20error" });
    expect(JSON.stringify(service.log)).not.toContain("secret");
    await until(() => service.log.some(({ msg }) => msg === "call failed"));
  });

  it("is reset if its headers are invalid in HTTP/2, and the next call is served", async () => {
    const { service, session } = await connect({
      emptyCall: (_request, { responseHeader }) => {
        responseHeader.set("connection", "close");
        return {};
      },
      unaryCall: () => ({}),
    });
    const stream = call(session, "EmptyCall", frame(new Uint8Array())).on("error", () => {});
    expect(await closed(stream)).toBe(constants.NGHTTP2_INTERNAL_ERROR);
    await until(() => service.log.some(({ msg }) => msg === "call failed"));
    const { trailers } = await readAnswer(call(session, "UnaryCall", simpleRequest));
    expect(trailers["grpc-status"]).toBe("0");
  });

  it("that the service does not implement is UNIMPLEMENTED", async () => {
    const { session } = await connect({});
    const { trailers } = await readAnswer(call(session, "EmptyCall", frame(new Uint8Array())));
    expect(trailers["grpc-status"]).toBe("12");
  });

  it.each([
    ["no message", new Uint8Array(), "12"],
    ["two messages", Buffer.concat([simpleRequest, simpleRequest]), "12"],
    ["half a message", simpleRequest.subarray(0, -1), "3"],
    ["what is no protobuf", frame(Buffer.from([0xff])), "3"],
  ])("with %s fails with the right status", async (_name, body, status) => {
    const { session } = await connect({ unaryCall: () => ({}) });
    const { trailers } = await readAnswer(call(session, "UnaryCall", body));
    expect(trailers["grpc-status"]).toBe(status);
  });
});

describe("compression", () => {
  const gzipped = frame(gzipSync(simpleRequest.subarray(5)), 1);
  const text = "x".repeat(5000);

  it("of a request is decoded, and the answer is compressed too", async () => {
    const { session } = await connect({
      unaryCall: ({ responseSize }) => ({ username: text, hostname: `${responseSize}` }),
    });
    const headers = { "grpc-encoding": "gzip", "grpc-accept-encoding": "deflate, gzip" };
    const answer = await readAnswer(call(session, "UnaryCall", gzipped, headers));
    expect(answer.headers["grpc-encoding"]).toBe("gzip");
    const [only] = splitFrames(answer.body);
    expect(only?.flags).toBe(1);
    const message = fromBinary(SimpleResponseSchema, gunzipSync(only?.message ?? new Uint8Array()));
    expect(message).toMatchObject({ username: text, hostname: "7" });
  });

  it("is omitted if a message is small, or the client does not compress", async () => {
    const { session } = await connect({
      unaryCall: ({ responseSize }) => ({ username: responseSize === 7 ? "short" : text }),
    });
    const asked = { "grpc-encoding": "gzip", "grpc-accept-encoding": "gzip" };
    const small = await readAnswer(call(session, "UnaryCall", gzipped, asked));
    expect(splitFrames(small.body)).toMatchObject([{ flags: 0 }]);
    const able = await readAnswer(
      call(session, "UnaryCall", frame(new Uint8Array()), { "grpc-accept-encoding": "gzip" }),
    );
    expect(able.headers).not.toHaveProperty("grpc-encoding");
    expect(splitFrames(able.body)).toMatchObject([{ flags: 0 }]);
  });

  it("is UNIMPLEMENTED if it is unknown, and the answer names the known ones", async () => {
    const { session } = await connect({ unaryCall: () => ({}) });
    const answer = await readAnswer(call(session, "UnaryCall", gzipped, { "grpc-encoding": "snappy" }));
    expect(answer.trailers["grpc-status"]).toBe("12");
    expect(answer.headers["grpc-accept-encoding"]).toBe("gzip");
  });
});

describe("a stream of answers", () => {
  it("is sent in one write if the messages are ready together", async () => {
    const { promise: firstRead, resolve } = Promise.withResolvers<void>();
    const batches = async function* () {
      yield [output(1), output(2), output(3)];
      await firstRead;
      yield [output(4)];
    };
    const { session } = await connect({
      streamingOutputCall: () => ({
        batches,
        [Symbol.asyncIterator]: () => {
          throw new Error("asked for single messages");
        },
      }),
    });
    const stream = call(session, "StreamingOutputCall", outputRequest);
    const reads: number[] = [];
    stream.on("data", (chunk) => {
      reads.push(splitFrames(chunk).length);
      resolve();
    });
    const { trailers } = await readAnswer(stream);
    expect(reads).toEqual([3, 1]);
    expect(trailers["grpc-status"]).toBe("0");
  });

  it("has its error in the trailers once it has begun", async () => {
    const { session } = await connect({
      async *streamingOutputCall() {
        yield output(1);
        throw new ConnectError("broke", Code.Unavailable);
      },
    });
    const { headers, body, trailers } = await readAnswer(call(session, "StreamingOutputCall", outputRequest));
    expect(headers).not.toHaveProperty("grpc-status");
    expect(splitFrames(body)).toHaveLength(1);
    expect(trailers).toMatchObject({ "grpc-status": "14", "grpc-message": "broke" });
  });

  it("waits for a reader that does not read, with one write ahead", async () => {
    let given = 0;
    const { session } = await connect({
      async *streamingOutputCall() {
        for (; given < 200; given++) yield output(10_000);
      },
    });
    const stream = call(session, "StreamingOutputCall", outputRequest);
    stream.pause();
    await until(() => given > 1);
    await setTimeout(100);
    // The client takes the 64 KiB of its window, and Node's stream buffers some more.
    expect(given).toBeLessThan(20);
    stream.resume();
    const { body, trailers } = await readAnswer(stream);
    expect(splitFrames(body)).toHaveLength(200);
    expect(trailers["grpc-status"]).toBe("0");
  });
});

describe("a stream of requests", () => {
  it("is read as it comes, and answered in between", async () => {
    const { session } = await connect({
      async *fullDuplexCall(requests) {
        for await (const { responseParameters } of requests) yield output(responseParameters[0]?.size ?? 0);
      },
    });
    const stream = openStream(session, toPath("FullDuplexCall"));
    const sizes: number[] = [];
    const ask = (size: number) => {
      const request = create(StreamingOutputCallRequestSchema, { responseParameters: [{ size }] });
      stream.write(frame(toBinary(StreamingOutputCallRequestSchema, request)));
    };
    stream.on("data", (chunk) => {
      for (const { message } of splitFrames(chunk)) {
        const size = fromBinary(StreamingOutputCallResponseSchema, message).payload?.body.byteLength ?? 0;
        sizes.push(size);
        if (size < 5) ask(size + 1);
        else stream.end();
      }
    });
    ask(1);
    const { trailers } = await readAnswer(stream);
    expect(sizes).toEqual([1, 2, 3, 4, 5]);
    expect(trailers["grpc-status"]).toBe("0");
  });

  it("waits while the service does not read", async () => {
    const { promise: proceed, resolve } = Promise.withResolvers<void>();
    const { session } = await connect({
      async streamingInputCall(requests) {
        await proceed;
        let size = 0;
        for await (const { payload } of requests) size += payload?.body.byteLength ?? 0;
        return { aggregatedPayloadSize: size };
      },
    });
    const stream = openStream(session, toPath("StreamingInputCall"));
    let left = 0;
    const send = () => {
      left += 1;
      if (left < 2000) stream.write(inputRequest, send);
      else stream.end();
    };
    stream.write(inputRequest, send);
    await until(() => left > 0);
    await setTimeout(100);
    // 2 MB were written; the server took at most a window of 256 KiB.
    expect(left * inputRequest.byteLength).toBeLessThan(300 * 1024);
    resolve();
    const { trailers } = await readAnswer(stream);
    expect(trailers["grpc-status"]).toBe("0");
    expect(left).toBe(2000);
  });

  it("is reset without an error if the answer is complete before its end", async () => {
    const { session } = await connect({ streamingInputCall: async () => ({ aggregatedPayloadSize: 1 }) });
    const stream = openStream(session, toPath("StreamingInputCall"));
    stream.write(inputRequest);
    const end = closed(stream);
    const { body, trailers } = await readAnswer(stream);
    expect(splitFrames(body)).toHaveLength(1);
    expect(trailers["grpc-status"]).toBe("0");
    expect(await end).toBe(constants.NGHTTP2_NO_ERROR);
  });

  it("is reset without an error if it is rejected before its end", async () => {
    const { session } = await connect({ unaryCall: () => ({}) }, { maxMessageBytes: 1000 });
    const stream = openStream(session, toPath("UnaryCall"));
    stream.write(frame(new Uint8Array(), 0, 1001));
    const end = closed(stream);
    expect((await readAnswer(stream)).trailers["grpc-status"]).toBe("8");
    expect(await end).toBe(constants.NGHTTP2_NO_ERROR);
  });
});

describe("a client that disconnects", () => {
  /** The end of a call as the service has seen it. */
  interface Seen {
    /** Whether the service was called. */
    called?: boolean;
    reason?: unknown;
    left?: boolean;
  }

  function watching(seen: Seen): Implementation {
    const watch = ({ signal }: HandlerContext) => {
      seen.called = true;
      signal.addEventListener("abort", () => {
        seen.reason = signal.reason;
      });
    };
    const waitForAbort = ({ signal }: HandlerContext) =>
      new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    return {
      unaryCall(_request, context) {
        watch(context);
        return waitForAbort(context);
      },
      async streamingInputCall(requests, context) {
        watch(context);
        for await (const _ of requests);
        return {};
      },
      async *streamingOutputCall(_request, context) {
        watch(context);
        try {
          yield output(1);
          for (;;) yield output(50_000);
        } finally {
          seen.left = true;
        }
      },
    };
  }

  const ways: [string, (stream: ClientHttp2Stream, session: ClientHttp2Session) => void][] = [
    ["cancelling", (stream) => stream.close(constants.NGHTTP2_CANCEL)],
    ["resetting without an error", (stream) => stream.close(constants.NGHTTP2_NO_ERROR)],
    ["losing the connection", (_stream, session) => session.destroy()],
  ];

  it.each(ways)("by %s while the service works aborts its signal", async (_name, leave) => {
    const seen: Seen = {};
    const { service, session } = await connect(watching(seen));
    const stream = call(session, "UnaryCall", simpleRequest).on("error", () => {});
    await until(() => service.metrics.render().includes("outrigger_inflight 1"));
    await setTimeout(20);
    leave(stream, session);
    await until(() => seen.reason !== undefined);
    expect(seen.reason).toMatchObject({ name: "AbortError" });
    await until(() => service.metrics.render().includes("outrigger_inflight 0"));
    expect(service.log).toMatchObject([{ msg: "client disconnected", code: "CANCELLED" }]);
  });

  it.each([
    ["cancelling", (peer: FrameConnection) => peer.send(FRAME.reset, 0, 1, Buffer.from([0, 0, 0, 8]))],
    ["resetting without an error", (peer: FrameConnection) => peer.send(FRAME.reset, 0, 1, Buffer.alloc(4))],
    ["losing the connection", (peer: FrameConnection) => peer.destroy()],
  ])("by %s while it sends does not end its requests normally", async (_name, leave) => {
    const seen: Seen = {};
    const { service } = await connect(watching(seen));
    const peer = new FrameConnection(service.url);
    servers.onEnd(() => peer.destroy());
    peer.call(1, toPath("StreamingInputCall"));
    peer.send(FRAME.data, 0, 1, inputRequest);
    await until(() => seen.called === true);
    leave(peer);
    await until(() => service.log.length > 0);
    expect(seen.reason).toMatchObject({ name: "AbortError" });
    expect(service.log).toMatchObject([{ msg: "client disconnected", code: "CANCELLED" }]);
  });

  it.each(ways)("by %s while it does not read ends the service's stream", async (_name, leave) => {
    const seen: Seen = {};
    const { service, session } = await connect(watching(seen));
    const stream = call(session, "StreamingOutputCall", outputRequest).on("error", () => {});
    await new Promise((resolve) => stream.once("response", resolve));
    await setTimeout(30);
    leave(stream, session);
    await until(() => service.log.length > 0);
    expect(seen).toMatchObject({ left: true, reason: { name: "AbortError" } });
  });

  it("does not affect other calls, ten thousand times", async () => {
    const { service, session } = await connect(watching({}));
    const bystander = openStream(session, toPath("StreamingInputCall"));
    bystander.write(inputRequest);
    for (let round = 0; round < 20; round++) {
      const leaving = Array.from({ length: 500 }, () =>
        call(session, "UnaryCall", simpleRequest).on("error", () => {}),
      );
      const gone = Promise.all(leaving.map(closed));
      for (const stream of leaving) stream.close(constants.NGHTTP2_CANCEL);
      await gone;
    }
    bystander.end(inputRequest);
    expect((await readAnswer(bystander)).trailers["grpc-status"]).toBe("0");
    await until(() => service.metrics.render().includes("outrigger_inflight 0"));
  }, 30_000);
});

describe("a deadline", () => {
  it("aborts the signal of the service with RequestTimeoutError", async () => {
    let reason: unknown;
    const { session } = await connect({
      unaryCall: (_request, { signal }) =>
        new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            reason = signal.reason;
            reject(reason);
          }),
        ),
    });
    const { trailers } = await readAnswer(
      call(session, "UnaryCall", simpleRequest, { "grpc-timeout": "30m" }),
    );
    expect(trailers["grpc-status"]).toBe("4");
    expect(reason).toBeInstanceOf(RequestTimeoutError);
  });

  it("ends the wait for a request that does not come", async () => {
    const { session } = await connect({ unaryCall: () => ({}) });
    const stream = openStream(session, toPath("UnaryCall"), { "grpc-timeout": "30m" });
    stream.write(simpleRequest.subarray(0, 3));
    expect((await readAnswer(stream)).trailers["grpc-status"]).toBe("4");
  });

  it("that is far away leaves no timer behind once the call has ended", async () => {
    const { session } = await connect({ emptyCall: () => ({}) });
    const answer = await readAnswer(
      call(session, "EmptyCall", frame(new Uint8Array()), { "grpc-timeout": "1H" }),
    );
    expect(answer.trailers["grpc-status"]).toBe("0");
  });
});

describe("a service", () => {
  it("sees the same of a call whichever transport carries it", async () => {
    const facts: unknown[] = [];
    const { service } = await connect({
      emptyCall(_request, context) {
        const {
          method,
          service: desc,
          signal,
          requestMethod,
          requestHeader,
          responseTrailer,
          values,
          url,
        } = context;
        facts.push({
          method: method.name,
          service: desc.typeName,
          signal: [signal instanceof AbortSignal, signal.aborted],
          remaining: Math.round((context.timeoutMs() ?? 0) / 10_000),
          requestMethod,
          mine: requestHeader.get("X-Mine"),
          binary: requestHeader.get("x-mine-bin"),
          trailer: responseTrailer.get("x-none"),
          values: typeof values.get,
          path: new URL(url).pathname,
        });
        return {};
      },
    });
    const transports = [createGrpcTransport, createConnectTransport].map((create) =>
      create({ baseUrl: service.url, httpVersion: "2" }),
    );
    for (const transport of transports) {
      const client = createClient(TestService, transport);
      await client.emptyCall({}, { headers: { "x-mine": "1", "x-mine-bin": "AAE" }, timeoutMs: 60_000 });
    }
    expect(facts[0]).toMatchObject({ remaining: 6, mine: "1", binary: "AAE", path: toPath("EmptyCall") });
    expect(facts[1]).toEqual(facts[0]);
  });
});
