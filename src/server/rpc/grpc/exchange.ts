/** Serves one call from its headers to its trailers. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { create, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, type MethodImplSpec } from "@connectrpc/connect";
import { toBatches } from "../../../core/batches.ts";
import type { SDKError } from "../../../core/errors.ts";
import { runInTurn } from "../../../core/loop-turns.ts";
import { PeerClosedError } from "../../http/peer-closed-error.ts";
import type { UnsentResponses } from "../../http/unsent-responses.ts";
import type { Codec } from "../../requests/codec.ts";
import type { Intake } from "../../requests/intake.ts";
import type { RequestShare } from "../../requests/request-memory.ts";
import { toConnectError, toFailure } from "../../status/status.ts";
import type { CallRecorder } from "../../telemetry/call-recorder.ts";
import { disconnectedOutcome, type TransportOutcome } from "../../telemetry/outcome.ts";
import { CallContext, DISCONNECTED } from "./context.ts";
import { parseTimeout } from "./deadline.ts";
import { FrameReader } from "./frames.ts";
import { acceptsGzip, getEncoding } from "./gzip.ts";
import type { MessageEncoder } from "./message-encoder.ts";
import { RequestMessages } from "./request.ts";
import { ResponseWriter } from "./response.ts";

/** A method of a service, prepared for calls. */
export interface GrpcMethod {
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
  readonly recorder: CallRecorder;
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** The reason to refuse the call; undefined if it is admitted. */
  readonly refusal?: SDKError | undefined;
  readonly intake: Intake;
  readonly unsent: UnsentResponses;
}

/** Serves a call. Resolves with its outcome when its stream is closed; never rejects. */
export async function serveExchange(options: ExchangeOptions): Promise<TransportOutcome> {
  const { method, recorder, stream, headers } = options;
  const context = new CallContext(method.spec.method, recorder, {
    protocolName: "grpc",
    headers,
    path: headers[":path"] ?? "/",
  });
  const response = new ResponseWriter(stream, recorder, context, {
    encode: method.encode,
    contentType: headers["content-type"] ?? "",
    unsent: options.unsent,
  });
  const closed = watchPeer(stream, context, response);
  let outcome = OK;
  let share: RequestShare | undefined;
  try {
    if (options.refusal !== undefined) throw toConnectError(options.refusal);
    share = options.intake.memory.begin(recorder.call.caller.name);
    await run(options, share, context, response);
  } catch (thrown) {
    outcome = sendFailure(thrown, options, response);
  }
  context.finish();
  await closed;
  response.closed();
  // Not earlier: the data of the call waits for its reader until here.
  share?.release();
  return response.disconnected ? disconnectedOutcome() : outcome;
}

const OK: TransportOutcome = { code: undefined, disconnected: false };

/** Ends the call when its peer closes the stream early. Resolves when the stream is closed. */
function watchPeer(stream: ServerHttp2Stream, context: CallContext, response: ResponseWriter): Promise<void> {
  const onClose = () => {
    if (response.ended) return;
    response.disconnect();
    context.abort(DISCONNECTED);
  };
  // An error of a stream is followed by `close`, which is handled below.
  stream.on("error", () => {});
  stream.once("aborted", () => runInTurn(onClose));
  return new Promise((resolve) => {
    // All streams of a connection close in one turn.
    stream.once("close", () =>
      runInTurn(() => {
        onClose();
        resolve();
      }),
    );
  });
}

async function run(
  { method, stream, headers, intake }: ExchangeOptions,
  share: RequestShare,
  context: CallContext,
  response: ResponseWriter,
): Promise<void> {
  context.expireIn(parseTimeout(getSingleValue(headers["grpc-timeout"])));
  const encoding = getEncoding(getSingleValue(headers["grpc-encoding"]));
  // Compress only for clients that compress: accepting gzip does not ask for it.
  response.gzip = encoding === "gzip" && acceptsGzip(headers["grpc-accept-encoding"]);
  const requests = new RequestMessages(stream, {
    frames: new FrameReader({
      maxMessageBytes: intake.limits.maxMessageBytes,
      strictFlags: true,
      onLength: (bytes) => share.expect(bytes),
    }),
    compression: encoding === "gzip" ? encoding : undefined,
    codec: method.codec,
    intake,
    share,
    isSingle: method.spec.kind === "unary" || method.spec.kind === "server_streaming",
  });
  context.share = share;
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
  context: CallContext,
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
  for await (const batch of toBatches(messages)) {
    const waiting = response.send(batch.map(whole));
    if (waiting !== undefined) await waiting;
  }
  response.end();
}

/** Sends the status of a call that failed, unless the peer is gone. */
function sendFailure(
  thrown: unknown,
  { recorder, stream }: ExchangeOptions,
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
  return { code: status.code, disconnected: false, fault };
}

/** Returns the value of a header. Node joins a header that was sent twice into one text, which is not a valid value. */
function getSingleValue(header: string | readonly string[] | undefined): string | undefined {
  return header === undefined ? undefined : String(header);
}
