/** Serves one call of a streaming method, over HTTP/1.1 or HTTP/2, from its headers to the end of its response. */

import type { OutgoingHttpHeaders } from "node:http2";
import { create, type Message } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { toBatches } from "../../../core/batches.ts";
import { runInTurn } from "../../../core/loop-turns.ts";
import { type HttpRequest, type HttpResponse, takesTrailers } from "../../base/http-types.ts";
import { CallContext, createDisconnect } from "../../calls/call-context.ts";
import {
  FlushedResponse,
  PeerClosedError,
  SLICE_BYTES,
  type UnsentResponses,
} from "../../http/flushed-response.ts";
import { endPaced } from "../../http/paced-writer.ts";
import { discardBody } from "../../http/request-body.ts";
import { resetResponse } from "../../http/reset-response.ts";
import type { CallMemory } from "../../requests/request-memory.ts";
import { Metadata } from "../../status/metadata.ts";
import { toFailure } from "../../status/status.ts";
import { disconnectedOutcome, failedOutcome, type TransportOutcome } from "../../telemetry/call-observer.ts";
import type { CallRecorder } from "../../telemetry/call-recorder.ts";
import { TIMING_HEADER } from "../../telemetry/call-recorder.ts";
import { RequestMessages, SingleRequest } from "../grpc/request.ts";
import type { StreamProtocol, StreamSettings, StreamSpec } from "./protocol.ts";

/** The request of a call. */
export interface ExchangeOptions {
  readonly spec: StreamSpec;
  readonly protocol: StreamProtocol;
  readonly settings: StreamSettings;
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly recorder: CallRecorder;
}

/**
 * Serves a call. Resolves with its outcome when its response is flushed, or its peer has disconnected; never rejects.
 */
export async function serveStream(options: ExchangeOptions): Promise<TransportOutcome> {
  const { spec, protocol, request, response, recorder } = options;
  const { headers, url = "/" } = request;
  const context = new CallContext(spec.method, recorder, { protocolName: protocol.name, headers, path: url });
  const { intake, unsent } = options.settings;
  const writer = new StreamResponse(response, { request, protocol, context, unsent });
  const onClose = () => {
    if (writer.ended) return;
    writer.disconnect();
    context.abort(createDisconnect());
  };
  response.once("close", () => runInTurn(onClose));
  let outcome = OK;
  try {
    context.share = intake.memory.begin(recorder.call.caller.name, request.rawHeaders.length / 2);
    await run(options, context.share, context, writer);
  } catch (thrown) {
    outcome = await sendFailure(thrown, options, writer);
  }
  context.share?.release();
  context.finish();
  discardBody(request);
  return writer.disconnected ? disconnectedOutcome() : outcome;
}

const OK: TransportOutcome = { code: undefined, disconnected: false };

async function run(
  { spec, protocol, settings: { intake }, request }: ExchangeOptions,
  share: CallMemory,
  context: CallContext,
  writer: StreamResponse,
): Promise<void> {
  const timeoutMs = protocol.timeoutMs();
  if (timeoutMs !== undefined) context.expireIn(timeoutMs);
  const reading = { ...protocol.readRequest(share), intake, share };
  if (spec.kind === "server_streaming") {
    const single = new SingleRequest(request, reading);
    context.onAbort = (reason) => single.fail(reason);
    return sendAll(spec.impl(await single.message, context), spec, writer);
  }
  const requests = new RequestMessages(request, reading);
  context.onAbort = (reason) => requests.fail(reason);
  try {
    await sendAll(spec.impl(requests, context), spec, writer);
  } finally {
    requests.drop();
  }
}

async function sendAll(
  messages: ReturnType<StreamSpec["impl"]>,
  { method }: StreamSpec,
  writer: StreamResponse,
): Promise<void> {
  for await (const batch of toBatches(messages)) {
    const waiting = writer.send(batch.map((init): Message => create(method.output, init)));
    if (waiting !== undefined) await waiting;
  }
  await writer.end();
}

/** Sends the status of a call that failed, unless the peer has disconnected. */
async function sendFailure(
  thrown: unknown,
  { recorder, response }: ExchangeOptions,
  writer: StreamResponse,
): Promise<TransportOutcome> {
  if (writer.disconnected || thrown instanceof PeerClosedError) return disconnectedOutcome();
  const { status, fault } = toFailure(thrown, recorder.call.rpc);
  try {
    await writer.end(status);
  } catch (headerFault) {
    // The service has set headers that HTTP does not allow.
    resetResponse(response);
    return { code: Code.Internal, disconnected: false, fault: headerFault };
  }
  return failedOutcome(status, fault);
}

/** The call of a response. */
interface StreamResponseOptions {
  readonly request: HttpRequest;
  readonly protocol: StreamProtocol;
  readonly context: CallContext;
  /** Limits the unsent bytes of all responses together. */
  readonly unsent: UnsentResponses;
}

/** Writes one response. */
class StreamResponse extends FlushedResponse {
  readonly #response: HttpResponse;
  readonly #protocol: StreamProtocol;
  readonly #context: CallContext;
  /** Whether trailers of HTTP are sent. */
  readonly #hasTrailers: boolean;

  /** Whether the response is complete, so that nothing more will be sent. */
  ended = false;

  constructor(response: HttpResponse, { request, protocol, context, unsent }: StreamResponseOptions) {
    super(unsent);
    this.#hasTrailers = !protocol.endHasTrailers && takesTrailers(request);
    this.#response = response;
    this.#protocol = protocol;
    this.#context = context;
  }

  /**
   * Sends messages in one write, once the previous write is flushed. Returns a promise only if it has to wait.
   * @throws PeerClosedError, at once or by the promise.
   */
  send(messages: readonly Message[]): Promise<void> | undefined {
    const chunk = this.#protocol.encode(messages);
    if (chunk.byteLength > SLICE_BYTES) return this.#writeLarge(chunk);
    if (this.unflushed) return this.flushed().then(() => this.#write(chunk));
    this.#write(chunk);
    return undefined;
  }

  /**
   * Ends the response with status OK, or with the status of an error. Resolves when it is flushed or the peer has
   * disconnected.
   */
  end(error?: ConnectError): Promise<void> {
    const { encodeEnd, fail } = this.#protocol;
    const timing = this.#context.recorder.getTimingHeader();
    if (error !== undefined && fail !== undefined && !this.#response.headersSent) {
      const { status, headers, body } = fail(error);
      this.#begin(status, headers);
      return this.#end(body);
    }
    const trailer = this.#context.serviceTrailer ?? new Metadata();
    for (const name in timing) trailer.set(name, timing[name] ?? "");
    const last = encodeEnd(trailer, error);
    if (!this.#response.headersSent) this.#begin(HTTP_OK, this.#protocol.headers);
    if (this.#hasTrailers) this.#response.addTrailers(timing);
    return this.#end(last);
  }

  /** Closes the stream, or the connection of HTTP/1.1. */
  destroy(): void {
    this.disconnected = true;
    resetResponse(this.#response);
  }

  async #writeLarge(chunk: Uint8Array): Promise<void> {
    await this.flushed();
    this.#beginBody();
    this.#write(await this.writeSlices(chunk, (slice, onFlush) => this.#response.write(slice, onFlush)));
  }

  #beginBody(): void {
    if (this.disconnected) throw new PeerClosedError();
    if (!this.#response.headersSent) this.#begin(HTTP_OK, this.#protocol.headers);
  }

  #write(chunk: Uint8Array): void {
    this.#beginBody();
    this.beginWrite(chunk.byteLength);
    this.#response.write(chunk, this.onFlush);
  }

  /** Sends the headers. Headers of the protocol override headers of the service. */
  #begin(status: number, protocolHeaders: OutgoingHttpHeaders): void {
    const headers: OutgoingHttpHeaders = {};
    const { serviceHeader, recorder } = this.#context;
    serviceHeader?.writeTo(headers);
    Object.assign(headers, protocolHeaders, recorder.responseIds);
    if (!this.#protocol.endHasTrailers) Object.assign(headers, recorder.getTimingHeader());
    if (this.#hasTrailers) headers.trailer = TIMING_HEADER;
    this.#response.writeHead(status, headers);
  }

  #end(last: Uint8Array): Promise<void> {
    this.ended = true;
    return endPaced(this.#response, last);
  }
}

const HTTP_OK = 200;
