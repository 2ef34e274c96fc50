/** Serves one request of an HTTP API, from its headers to the end of its response. */

import type { OutgoingHttpHeaders } from "node:http2";
import { Code } from "@connectrpc/connect";
import { InternalError, type SDKError } from "../../core/errors.ts";
import { runInTurn } from "../../core/loop-turns.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import type { EndpointResponse, EndpointRoute } from "../../http/endpoint.ts";
import { type HttpRequest, type HttpResponse, takesTrailers } from "../base/http-types.ts";
import { type CallsInProgress, createDisconnect } from "../calls/call-context.ts";
import { InferenceRecord } from "../calls/inference-record.ts";
import {
  FlushedResponse,
  PeerClosedError,
  SLICE_BYTES,
  type UnsentResponses,
} from "../http/flushed-response.ts";
import { endPaced } from "../http/paced-writer.ts";
import { discardBody } from "../http/request-body.ts";
import { resetResponse } from "../http/reset-response.ts";
import type { Intake } from "../requests/intake.ts";
import { toRefusalError } from "../requests/refusals.ts";
import type { CallMemory } from "../requests/request-memory.ts";
import { getCode } from "../status/status-code.ts";
import { disconnectedOutcome, type TransportOutcome } from "../telemetry/call-observer.ts";
import type { CallRecorder } from "../telemetry/call-recorder.ts";
import { TIMING_HEADER } from "../telemetry/call-recorder.ts";
import type { WebSockets } from "../websocket/web-sockets.ts";
import { toEndpointRequest, toRequestHead } from "./request.ts";

/** The parts that all requests of an API share. */
export interface ApiParts {
  /** Calls the models. */
  readonly client: ModelClient;
  readonly intake: Intake;
  readonly unsent: UnsentResponses;
  /** The requests in progress. */
  readonly calls: CallsInProgress;
  readonly sockets: WebSockets;
}

/** A request and the parts that serve it. */
export interface ExchangeOptions extends ApiParts {
  readonly route: EndpointRoute;
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly recorder: CallRecorder;
}

/** A request that is served, and its response. */
export class ApiExchange {
  readonly #options: ExchangeOptions;
  readonly #writer: BodyResponse;
  readonly #record: InferenceRecord;
  readonly #work = new AbortController();
  #outcome: TransportOutcome = { code: undefined, disconnected: false };

  constructor(options: ExchangeOptions) {
    const { response, client, recorder, calls } = options;
    this.#options = options;
    this.#writer = new BodyResponse(options);
    this.#record = new InferenceRecord(client, recorder);
    calls.add(this.#work);
    response.once("close", runInTurn.bind(undefined, this.#onClose));
  }

  /**
   * Serves the request. Resolves with its outcome when the response is flushed or the peer has disconnected; never
   * rejects.
   */
  async serve(): Promise<TransportOutcome> {
    const { recorder, request, response, calls, intake } = this.#options;
    const { signal } = this.#work;
    let share: CallMemory | undefined;
    try {
      share = intake.memory.begin(recorder.call.caller.name, request.rawHeaders.length / 2);
      this.#record.memory = share.runAnswers;
      const answer = withoutLargeText(await this.#answer(signal, share));
      const bytes = countBytes(answer.body);
      if (bytes !== undefined) share.shrink(bytes);
      await this.#writer.send(answer, bytes);
    } catch (thrown) {
      if (share === undefined) await this.#refuse(toRefusalError(thrown));
      else if (!this.#isPeerGone(thrown)) {
        // A truncated body must not look complete.
        resetResponse(response);
        this.#outcome = { code: Code.Internal, disconnected: false, fault: thrown };
      }
    }
    share?.release();
    calls.delete(this.#work);
    this.#record.end(signal);
    discardBody(request);
    return this.#writer.disconnected ? disconnectedOutcome() : this.#outcome;
  }

  readonly #onClose = (): void => {
    if (this.#writer.ended) return;
    this.#writer.disconnect();
    this.#work.abort(createDisconnect());
  };

  #isPeerGone(thrown: unknown): boolean {
    return this.#writer.disconnected || thrown instanceof PeerClosedError;
  }

  async #answer(signal: AbortSignal, share: CallMemory): Promise<EndpointResponse> {
    const { route, request, intake, recorder } = this.#options;
    const client = this.#record;
    const noteFailure = (error: SDKError) => this.#note(error);
    try {
      return await route.serve(
        toEndpointRequest(request, { recorder, client, signal, intake, share, noteFailure }),
      );
    } catch (thrown) {
      if (this.#isPeerGone(thrown)) throw thrown;
      const error = new InternalError("internal error", { cause: thrown });
      this.#note(error, thrown);
      return route.fail(error, toRequestHead(request));
    }
  }

  #refuse(error: SDKError): Promise<void> {
    this.#note(error);
    const { route, request } = this.#options;
    const answer = route.fail(error, toRequestHead(request));
    return this.#writer.send(answer, countBytes(answer.body));
  }

  #note(error: SDKError, fault?: unknown): void {
    this.#record.fail(error);
    this.#outcome = { code: getCode(error.kind), disconnected: false, fault, error };
  }
}

/** Writes one response. */
class BodyResponse extends FlushedResponse {
  readonly #request: HttpRequest;
  readonly #response: HttpResponse;
  readonly #recorder: CallRecorder;
  /** Whether the response is complete, so that nothing more will be sent. */
  ended = false;

  constructor({ request, response, recorder, unsent }: ExchangeOptions) {
    super(unsent);
    this.#request = request;
    this.#response = response;
    this.#recorder = recorder;
  }

  /**
   * Sends a whole response. Resolves when it is flushed or the peer has disconnected.
   * @param bytes Length of the body; undefined if it is a stream.
   * @throws PeerClosedError if the peer disconnects, after the iteration of the body was ended. Also throws errors of
   *   the body.
   */
  async send({ status, headers, body }: EndpointResponse, bytes: number | undefined): Promise<void> {
    if (bytes !== undefined) this.#begin(status, { ...headers, "content-length": bytes });
    // Node writes a text together with the headers.
    if (typeof body === "string") return this.#end(body, bytes);
    if (body instanceof Uint8Array) {
      const last = await this.#writeAllButLast(body);
      return this.#end(last, last.byteLength);
    }
    const hasTrailers = takesTrailers(this.#request);
    const streamHeaders = hasTrailers ? { ...headers, trailer: TIMING_HEADER } : headers;
    for await (const chunk of body) {
      if (this.unflushed) await this.flushed();
      if (this.disconnected) throw new PeerClosedError();
      if (!this.#response.headersSent) this.#begin(status, streamHeaders);
      const last = chunk.byteLength > SLICE_BYTES ? await this.#writeAllButLast(chunk) : chunk;
      this.beginWrite(last.byteLength);
      this.#response.write(last, this.onFlush);
    }
    if (!this.#response.headersSent) this.#begin(status, streamHeaders);
    if (hasTrailers) this.#response.addTrailers(this.#recorder.getTimingHeader());
    return this.#end();
  }

  /** Sends the headers, including those with the ids and times of this call. They may grow until the body begins. */
  #begin(status: number, headers: OutgoingHttpHeaders): void {
    const { responseIds } = this.#recorder;
    this.#response.writeHead(status, { ...headers, ...responseIds, ...this.#recorder.getTimingHeader() });
  }

  /** Closes the stream, or the connection of HTTP/1.1, because a truncated response must not look complete. */
  destroy(): void {
    this.disconnected = true;
    resetResponse(this.#response);
  }

  #writeAllButLast(bytes: Uint8Array): Promise<Uint8Array> {
    return this.writeSlices(bytes, (slice, onFlush) => this.#response.write(slice, onFlush));
  }

  async #end(last?: Uint8Array | string, bytes = 0): Promise<void> {
    this.ended = true;
    this.beginWrite(bytes);
    await endPaced(this.#response, last);
    this.onFlush();
  }
}

/** Longest text that is written in one piece, in UTF-16 units: at most 48 KiB of UTF-8. */
const MAX_TEXT_UNITS = 16 * 1024;

/** Encodes a long text, since it is written in slices and may take more memory than its bytes. */
function withoutLargeText(response: EndpointResponse): EndpointResponse {
  const { body } = response;
  const isLarge = typeof body === "string" && body.length > MAX_TEXT_UNITS;
  return isLarge ? { ...response, body: Buffer.from(body) } : response;
}

/** Returns the bytes of a body in one piece. Undefined for others. */
function countBytes(body: EndpointResponse["body"]): number | undefined {
  if (typeof body === "string") return Buffer.byteLength(body);
  return body instanceof Uint8Array ? body.byteLength : undefined;
}
