import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { GrpcWebClientBase, MethodDescriptor, MethodType, type RpcError } from "grpc-web";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { RateLimitError } from "../../../src/core/errors.ts";
import { type Request, RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { ResponseSchema } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { Base64Decoder, encodeBase64, takesTextResponse } from "../../../src/server/http/grpc-web-text.ts";
import { frame, inferencePath, splitFrames } from "../support/raw-http2.ts";
import { silence, textEvents, textResponse } from "../support/scripted-inference.ts";
import { type TestServer, useTestServers } from "../support/test-server.ts";
import { FetchingXmlHttpRequest } from "../support/xml-http-request.ts";

const servers = useTestServers();

const TEXT_TYPE = "application/grpc-web-text+proto";
const BINARY_TYPE = "application/grpc-web+proto";

const request = create(RequestSchema, { model: "grüße" });

/** A method of InferenceService as Google's code generator describes it. */
function createDescriptor<Output extends DescMessage>(
  name: string,
  type: string,
  output: Output,
): MethodDescriptor<Request, MessageShape<Output>> {
  return new MethodDescriptor<Request, MessageShape<Output>>(
    inferencePath(name),
    type,
    Object as never,
    Object as never,
    (message: Request) => toBinary(RequestSchema, message),
    (bytes: Uint8Array) => fromBinary(output, bytes),
  );
}

interface Streamed {
  readonly events: StreamEvent[];
  readonly error: RpcError | undefined;
}

function streamBy(client: GrpcWebClientBase, server: TestServer, onEvent?: () => void): Promise<Streamed> {
  const events: StreamEvent[] = [];
  const method = createDescriptor("Stream", MethodType.SERVER_STREAMING, StreamEventSchema);
  const call = client.serverStreaming(server.url + inferencePath("Stream"), request, {}, method);
  call.on("data", (event) => {
    events.push(event);
    onEvent?.();
  });
  return new Promise((resolve) => {
    call.on("error", (error) => resolve({ events, error }));
    call.on("end", () => resolve({ events, error: undefined }));
  });
}

describe("Google's web client", () => {
  beforeAll(() => void vi.stubGlobal("XMLHttpRequest", FetchingXmlHttpRequest));
  afterAll(() => void vi.unstubAllGlobals());

  const client = new GrpcWebClientBase({ format: "text" });

  it("gets a whole answer as text", async () => {
    const server = await servers.start({ complete: async (call) => textResponse(call, "ja 😀") });
    const method = createDescriptor("Complete", MethodType.UNARY, ResponseSchema);
    const response = await client.unaryCall(server.url + inferencePath("Complete"), request, {}, method);
    expect(server.inference.calls[0]?.request.model).toBe("grüße");
    expect(response.message?.content[0]?.part.value).toBe("ja 😀");
    expect(server.log.at(-1)).toMatchObject({ protocol: "grpc-web", code: "OK" });
  });

  it("gets each event of a stream when it happens", async () => {
    const seen = Promise.withResolvers<void>();
    const server = await servers.start({
      stream: async function* (call) {
        const events = textEvents(call, ["a", "b"]);
        yield events.slice(0, 3);
        // Continues only after the client has the first events.
        await seen.promise;
        yield events.slice(3);
      },
    });
    const { events, error } = await streamBy(client, server, seen.resolve);
    expect(error).toBeUndefined();
    expect(events.map(({ sequence }) => sequence)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(events.at(-1)?.event.case).toBe("finish");
  });

  it("gets the status of a stream that fails", async () => {
    const failure = new RateLimitError("slow down", { provider: "acme", httpStatusCode: 429, retryAfter: 2 });
    const server = await servers.start({
      stream: async function* () {
        yield await Promise.reject(failure);
      },
    });
    const { events, error } = await streamBy(client, server);
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code: Code.ResourceExhausted, message: "slow down" });
    expect(error?.metadata).toMatchObject({ "retry-after": "2" });
  });

  it("ends the call by leaving", async () => {
    const left = Promise.withResolvers<void>();
    const server = await servers.start({
      stream: async function* (call) {
        yield textEvents(call, []).slice(0, 1);
        await silence(call.signal).catch(() => left.resolve());
        throw new Error("left");
      },
    });
    const method = createDescriptor("Stream", MethodType.SERVER_STREAMING, StreamEventSchema);
    const call = client.serverStreaming(server.url + inferencePath("Stream"), request, {}, method);
    call.on("data", () => call.cancel());
    await left.promise;
    await expect.poll(() => server.log.at(-1)).toMatchObject({ code: "CANCELLED" });
  });
});

/** Sends a text or bytes to Stream, and returns the text of the answer. */
async function post(
  server: TestServer,
  headers: Record<string, string>,
  body: string | Uint8Array<ArrayBuffer>,
) {
  const response = await fetch(server.url + inferencePath("Stream"), { method: "POST", headers, body });
  return { type: response.headers.get("content-type"), text: await response.text() };
}

/** The trailers that end a body. */
function trailersIn(bytes: Buffer): string {
  const last = splitFrames(bytes).at(-1);
  expect(last?.flags).toBe(0x80);
  return String(last?.message);
}

const REQUEST_TEXT = frame(toBinary(RequestSchema, request)).toString("base64");

describe("gRPC-Web as text", () => {
  const startStreaming = () =>
    servers.start({
      stream: async function* (call) {
        yield textEvents(call, ["a"]);
      },
    });

  it("ends every flush with whole groups", async () => {
    const server = await startStreaming();
    const { type, text } = await post(server, { "content-type": TEXT_TYPE }, REQUEST_TEXT);
    expect(type).toBe(TEXT_TYPE);
    expect(text.length % 4).toBe(0);
    const decoder = new Base64Decoder();
    expect(trailersIn(decoder.decode(Buffer.from(text)))).toContain("grpc-status: 0\r\n");
    decoder.end();
  });

  it("follows the header `accept`, regardless of the request's type", async () => {
    const server = await startStreaming();
    const asText = await post(
      server,
      { "content-type": BINARY_TYPE, accept: TEXT_TYPE },
      Buffer.from(REQUEST_TEXT, "base64"),
    );
    expect(asText.type).toBe(TEXT_TYPE);
    expect(asText.text).toMatch(/^[A-Za-z0-9+/=]+$/);
    const asBytes = await post(server, { "content-type": TEXT_TYPE, accept: BINARY_TYPE }, REQUEST_TEXT);
    expect(asBytes.type).toBe(BINARY_TYPE);
    expect(asBytes.text).toContain("grpc-status: 0\r\n");
  });

  it.each([
    ["is no base64", "AAAA*AAA", "expected base64"],
    ["is padded too much", "A===", "expected base64"],
    ["ends inside a group", `${REQUEST_TEXT}AA`, "ends inside a group"],
  ])("a request that %s is INVALID_ARGUMENT", async (_name, body, message) => {
    const server = await startStreaming();
    for (const path of ["Stream", "Complete"]) {
      const response = await fetch(server.url + inferencePath(path), {
        method: "POST",
        headers: { "content-type": TEXT_TYPE },
        body,
      });
      const trailers = trailersIn(new Base64Decoder().decode(Buffer.from(await response.text())));
      expect(trailers).toContain("grpc-status: 3\r\n");
      expect(decodeURIComponent(trailers)).toContain(message);
    }
    expect(server.inference.calls).toEqual([]);
  });

  it("has a status in the headers if nothing is at the path", async () => {
    const server = await startStreaming();
    const response = await fetch(`${server.url}/outrigger.v1.InferenceService/Missing`, {
      method: "POST",
      headers: { "content-type": TEXT_TYPE },
      body: REQUEST_TEXT,
    });
    expect(response.headers.get("grpc-status")).toBe("12");
  });
});

describe("takesTextResponse", () => {
  it.each([
    [{ "content-type": "application/grpc-web-text" }, true],
    [{ "content-type": "application/grpc-web" }, false],
    [{ "content-type": "application/grpc-web", accept: "application/grpc-web-text" }, true],
    [{ "content-type": "application/grpc-web-text", accept: "application/grpc-web+proto" }, false],
    [{ "content-type": "application/grpc-web-text", accept: "*/*" }, true],
    [{ "content-type": "application/json" }, false],
  ])("of %o is %s", (headers, expected) => {
    expect(takesTextResponse(headers)).toBe(expected);
  });
});

describe("Base64Decoder", () => {
  const decode = (chunks: readonly Buffer[]): Buffer => {
    const decoder = new Base64Decoder();
    const bytes = Buffer.concat(chunks.map((chunk) => decoder.decode(chunk)));
    decoder.end();
    return bytes;
  };

  it("reads text that was flushed in pieces, wherever the network splits it", () => {
    const cuts = fc.array(fc.nat(), { maxLength: 8 });
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 8 }), cuts, (pieces, places) => {
        const text = Buffer.concat(pieces.map(encodeBase64));
        const ends = [...places.map((place) => place % (text.length + 1)), text.length].sort((a, b) => a - b);
        const chunks = ends.map((end, index) => text.subarray(ends[index - 1] ?? 0, end));
        expect(decode(chunks)).toEqual(Buffer.concat(pieces));
      }),
    );
  });

  it("gives bytes or INVALID_ARGUMENT for any text", () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[A-C=+/ \n-]{0,9}$/), { maxLength: 4 }), (texts) => {
        try {
          decode(texts.map((text) => Buffer.from(text)));
        } catch (error) {
          expect(error).toBeInstanceOf(ConnectError);
          expect(error).toMatchObject({ code: Code.InvalidArgument });
        }
      }),
    );
  });
});
