/** Serves one call from its headers to its trailers. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { create } from "@bufbuild/protobuf";
import { Code, type MethodImplSpec } from "@connectrpc/connect";
import { runInTurn } from "../../../core/loop-turns.ts";
import type { MessageEncoder } from "../../../core/message-encoder.ts";
import { readTraceContext } from "../../../core/trace-context.ts";
import type { Admission } from "../../access/access-control.ts";
import { CallContext, createDisconnect } from "../../calls/call-context.ts";
import { PeerClosedError, type UnsentResponses } from "../../http/flushed-response.ts";
import type { Codec } from "../../requests/codec.ts";
import type { Intake } from "../../requests/intake.ts";
import type { CallMemory } from "../../requests/request-memory.ts";
import { toConnectError, toFailure } from "../../status/status.ts";
import {
  type CallObserver,
  disconnectedOutcome,
  failedOutcome,
  type TransportOutcome,
} from "../../telemetry/call-observer.ts";
import { CallRecorder, getRequestId, REQUEST_ID_HEADER } from "../../telemetry/call-recorder.ts";
import { FrameReader } from "./frames.ts";
import { RequestMessages, SingleRequest } from "./request.ts";
import { acceptsGzip, getCompression, parseTimeout } from "./request-headers.ts";
import { ResponseWriter } from "./response.ts";

/** A method of a service, prepared for calls. */
export interface GrpcMethod {
  /** Service and method: `outrigger.v1.InferenceService/Stream`. */
  readonly rpc: string;
  readonly spec: MethodImplSpec;
  /** Whether calls need no access key. */
  readonly isOpen: boolean;
  /** Decodes its request messages. */
  readonly codec: Codec;
  /** Encodes its response messages. */
  readonly encode: MessageEncoder;
}

/** The request of a call. */
export interface ExchangeOptions {
  readonly method: GrpcMethod;
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** Number of header fields. */
  readonly fields: number;
  readonly intake: Intake;
  readonly unsent: UnsentResponses;
  readonly observers: readonly CallObserver[];
}

/** Serves a call. Resolves when its stream is closed; never rejects. */
export async function serveExchange(options: ExchangeOptions, { caller, refusal }: Admission): Promise<void> {
  const { method, stream, headers, fields, intake, unsent } = options;
  const call = {
    rpc: method.rpc,
    requestId: getRequestId(headers[REQUEST_ID_HEADER]),
    httpVersion: "2.0",
    protocol: "grpc",
    caller,
    trace: headers.traceparent === undefined ? undefined : readTraceContext(headers),
  };
  const recorder = new CallRecorder(call, options.observers);
  // The peer may have left while its token was verified.
  if (stream.closed) return recorder.end(disconnectedOutcome());
  const path = headers[":path"] ?? "/";
  const context = new CallContext(method.spec.method, recorder, { protocolName: "grpc", headers, path });
  const response = new ResponseWriter(stream, context, {
    encode: method.encode,
    contentType: headers["content-type"] ?? "",
    unsent,
  });
  const closed = watchPeer(stream, context, response);
  let outcome = OK;
  try {
    if (refusal !== undefined) throw toConnectError(refusal);
    context.share = intake.memory.begin(recorder.call.caller.name, fields);
    await run(options, context.share, context, response);
  } catch (thrown) {
    outcome = sendFailure(thrown, recorder, stream, response);
  }
  context.finish();
  await closed;
  unsent.remove(response);
  // Not earlier: the data of the call waits for its reader until here.
  context.share?.release();
  recorder.end(response.disconnected ? disconnectedOutcome() : outcome);
}

const OK: TransportOutcome = { code: undefined, disconnected: false };

/** Ends the call when its peer closes the stream early. Resolves when the stream is closed. */
function watchPeer(stream: ServerHttp2Stream, context: CallContext, response: ResponseWriter): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const leave = () => {
    if (!response.ended) {
      response.disconnect();
      context.abort(createDisconnect());
    }
    if (stream.closed) resolve();
  };
  // All streams of a connection close in one turn.
  const leaveInTurn = runInTurn.bind(undefined, leave);
  stream.on("aborted", leaveInTurn);
  stream.on("close", leaveInTurn);
  return promise;
}

function run(
  { method: { spec, codec }, stream, headers, intake }: ExchangeOptions,
  share: CallMemory,
  context: CallContext,
  response: ResponseWriter,
): Promise<void> {
  const { "grpc-timeout": timeout, "grpc-encoding": encoding } = headers;
  const timeoutMs = timeout === undefined ? undefined : parseTimeout(timeout);
  if (timeoutMs !== undefined) context.expireIn(timeoutMs);
  const compression = encoding === undefined ? undefined : getCompression(encoding);
  // Compress only for clients that compress: accepting gzip does not ask for it.
  response.gzip = compression !== undefined && acceptsGzip(headers["grpc-accept-encoding"]);
  const { maxMessageBytes } = intake.limits;
  const frames = new FrameReader({ maxMessageBytes, strictFlags: true, share });
  const reading = { frames, compression, codec, intake, share };
  return spec.kind === "unary" || spec.kind === "server_streaming"
    ? answerOne(new SingleRequest(stream, reading), spec, context, response)
    : answerSeveral(new RequestMessages(stream, reading), spec, context, response);
}

type SpecOf<Kind> = Extract<MethodImplSpec, { readonly kind: Kind }>;

async function answerOne(
  request: SingleRequest,
  spec: SpecOf<"unary" | "server_streaming">,
  context: CallContext,
  response: ResponseWriter,
): Promise<void> {
  context.onAbort = (reason) => request.fail(reason);
  const message = await request.message;
  const { output } = spec.method;
  if (spec.kind === "server_streaming") return response.sendAll(spec.impl(message, context), output);
  return response.sendLast(create(output, await spec.impl(message, context)));
}

async function answerSeveral(
  requests: RequestMessages,
  spec: SpecOf<"client_streaming" | "bidi_streaming">,
  context: CallContext,
  response: ResponseWriter,
): Promise<void> {
  context.onAbort = (reason) => requests.fail(reason);
  const { output } = spec.method;
  try {
    if (spec.kind === "bidi_streaming") return await response.sendAll(spec.impl(requests, context), output);
    return await response.sendLast(create(output, await spec.impl(requests, context)));
  } finally {
    requests.drop();
  }
}

/** Sends the status of a call that failed, unless the peer has disconnected. */
function sendFailure(
  thrown: unknown,
  recorder: CallRecorder,
  stream: ServerHttp2Stream,
  response: ResponseWriter,
): TransportOutcome {
  if (response.disconnected || thrown instanceof PeerClosedError) return disconnectedOutcome();
  const { status, fault } = toFailure(thrown, recorder.call.rpc);
  try {
    response.end(status);
  } catch (headerFault) {
    // The service has set headers that HTTP/2 does not allow.
    stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    return { code: Code.Internal, disconnected: false, fault: headerFault };
  }
  return failedOutcome(status, fault);
}
