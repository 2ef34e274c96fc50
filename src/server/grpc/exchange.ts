/** One call from its headers to its trailers. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { create, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, type MethodImplSpec } from "@connectrpc/connect";
import { batchesOf } from "../../core/batches.ts";
import type { Limits } from "../options.ts";
import { noteFailure } from "../status/status.ts";
import type { Call } from "../telemetry/call.ts";
import { GrpcContext, LEFT } from "./context.ts";
import { timeoutOf } from "./deadline.ts";
import { acceptsGzip, encodingOf } from "./gzip.ts";
import type { MessageEncoder } from "./message-encoder.ts";
import { RequestMessages } from "./request.ts";
import { PeerClosedError, ResponseWriter } from "./response.ts";

/** A method, ready to be called. */
export interface GrpcMethod {
  readonly spec: MethodImplSpec;
  /** Writes the messages that it answers with. */
  readonly encode: MessageEncoder;
}

/** What a call arrived with. */
export interface ExchangeOptions {
  readonly method: GrpcMethod;
  readonly call: Call;
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly limits: Limits;
}

/** Serves a call and writes its outcome into the Call. Resolves when its stream is closed; never rejects. */
export async function serveExchange(options: ExchangeOptions): Promise<void> {
  const { method, call, stream, headers } = options;
  const context = new GrpcContext(method.spec.method, call, headers);
  const response = new ResponseWriter(stream, call, context, {
    encode: method.encode,
    contentType: headers["content-type"] ?? "",
  });
  const closed = watchPeer(options, context, response);
  try {
    await run(options, context, response);
  } catch (thrown) {
    conclude(thrown, options, response);
  }
  context.finish();
  await closed;
}

/** Ends the call when its peer leaves. Resolves when the stream is closed. */
function watchPeer(
  { call, stream }: ExchangeOptions,
  context: GrpcContext,
  response: ResponseWriter,
): Promise<void> {
  const leave = () => {
    if (response.ended) return;
    call.abandoned = true;
    call.code = Code.Canceled;
    response.close();
    context.abort(LEFT);
  };
  // A stream that breaks closes, which is all that there is to know of it.
  stream.on("error", () => {});
  stream.once("aborted", leave);
  return new Promise((resolve) => {
    stream.once("close", () => {
      leave();
      resolve();
    });
  });
}

async function run(
  { method, stream, headers, limits }: ExchangeOptions,
  context: GrpcContext,
  response: ResponseWriter,
): Promise<void> {
  context.expireIn(timeoutOf(oneOf(headers["grpc-timeout"])));
  const encoding = encodingOf(oneOf(headers["grpc-encoding"]));
  // Who compresses asks for the same; that a caller could read it is no wish of its own.
  response.gzip = encoding === "gzip" && acceptsGzip(headers["grpc-accept-encoding"]);
  const { maxMessageBytes } = limits;
  const requests = new RequestMessages(stream, { desc: method.spec.method.input, encoding, maxMessageBytes });
  context.onAbort = (reason) => requests.fail(reason);
  try {
    await invoke(method.spec, requests, context, response);
  } finally {
    context.onAbort = undefined;
    requests.drop();
  }
}

async function invoke(
  spec: MethodImplSpec,
  requests: RequestMessages,
  context: GrpcContext,
  response: ResponseWriter,
): Promise<void> {
  const { output } = spec.method;
  const whole = (init: MessageInitShape<typeof output>): Message => create(output, init);
  switch (spec.kind) {
    case "unary":
      return response.sendLast(whole(await spec.impl(await requests.single(), context)));
    case "client_streaming":
      return response.sendLast(whole(await spec.impl(requests, context)));
    case "server_streaming":
      return sendAll(spec.impl(await requests.single(), context), whole, response);
    case "bidi_streaming":
      return sendAll(spec.impl(requests, context), whole, response);
  }
}

async function sendAll<Init>(
  messages: AsyncIterable<Init>,
  whole: (init: Init) => Message,
  response: ResponseWriter,
): Promise<void> {
  for await (const batch of batchesOf(messages)) {
    const waiting = response.send(batch.map(whole));
    if (waiting !== undefined) await waiting;
  }
  response.end();
}

/** Sends the status of a call that failed, if there is still someone to read it. */
function conclude(thrown: unknown, { call, stream }: ExchangeOptions, response: ResponseWriter): void {
  if (call.abandoned) return;
  if (thrown instanceof PeerClosedError) {
    call.abandoned = true;
    call.code = Code.Canceled;
    return;
  }
  const error = noteFailure(call, thrown);
  try {
    response.end(error);
  } catch (fault) {
    // The service has set headers that HTTP/2 does not allow.
    call.code = Code.Internal;
    call.fault = fault;
    stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }
}

/** A header that has one value. Where a caller sent two, they have become one text, which is no value. */
function oneOf(header: string | readonly string[] | undefined): string | undefined {
  return header === undefined ? undefined : String(header);
}
