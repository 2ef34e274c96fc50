import type { IncomingHttpHeaders } from "node:http2";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import { type RequestShare, requestShareKey } from "../../requests/request-memory.ts";
import { Metadata } from "../../status/metadata.ts";
import { type CallRecorder, recorderKey } from "../../telemetry/call-recorder.ts";

/** The request of a call, as read by its protocol. */
export interface ContextOptions {
  /** Connect's name of the protocol: `grpc`, `grpc-web` or `connect`. */
  readonly protocolName: string;
  readonly headers: IncomingHttpHeaders;
  /** With the query. */
  readonly path: string;
}

/** The HandlerContext of a call, as a service gets it from Connect. Its parts are created on first use. */
export class CallContext implements HandlerContext {
  readonly method: DescMethod;
  readonly requestMethod = "POST";
  /** The memory of the call, for services that keep request data. Must be set before the service is called. */
  share: RequestShare | undefined;
  readonly #recorder: CallRecorder;
  readonly #options: ContextOptions;
  #deadline: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #onAbort: ((reason: unknown) => void) | undefined;
  #controller: AbortController | undefined;
  #reason: unknown;
  #aborted = false;
  #requestHeader: Metadata | undefined;
  #responseHeader: Metadata | undefined;
  #responseTrailer: Metadata | undefined;
  #values: ContextValues | undefined;

  constructor(method: DescMethod, recorder: CallRecorder, options: ContextOptions) {
    this.method = method;
    this.#recorder = recorder;
    this.#options = options;
  }

  get protocolName(): string {
    return this.#options.protocolName;
  }

  get service(): DescService {
    return this.method.parent;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= Metadata.from(this.#options.headers);
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Metadata();
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Metadata();
    return this.#responseTrailer;
  }

  get values(): ContextValues {
    this.#values ??= createContextValues().set(recorderKey, this.#recorder).set(requestShareKey, this.share);
    return this.#values;
  }

  get url(): string {
    const { headers, path } = this.#options;
    const { ":scheme": scheme = "http", ":authority": authority, host } = headers;
    return `${scheme}://${authority ?? host ?? "localhost"}${path}`;
  }

  readonly timeoutMs = (): number | undefined =>
    this.#deadline === undefined ? undefined : this.#deadline - Date.now();

  /** Sets the call's deadline, in milliseconds from now; undefined for none. */
  expireIn(timeoutMs: number | undefined): void {
    if (timeoutMs === undefined || this.#aborted) return;
    this.#deadline = Date.now() + timeoutMs;
    this.#timer = setTimeout(() => this.abort(deadlineExceeded()), timeoutMs);
  }

  /** The headers that the service has set; undefined if there are none. */
  get serviceHeader(): Metadata | undefined {
    return this.#responseHeader;
  }

  /** The trailers that the service has set; undefined if there are none. */
  get serviceTrailer(): Metadata | undefined {
    return this.#responseTrailer;
  }

  /** Called when the call is aborted before its end. One listener at a time; undefined for none. */
  set onAbort(listener: ((reason: unknown) => void) | undefined) {
    this.#onAbort = listener;
    if (this.#aborted) listener?.(this.#reason);
  }

  /** Ends the call early: aborts its signal. Has no effect on a call that has ended. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#stop(reason);
    this.#onAbort?.(reason);
  }

  /** Ends the call. Aborts its signal too, as Connect does. */
  finish(): void {
    if (!this.#aborted) this.#stop(FINISHED);
  }

  #stop(reason: unknown): void {
    this.#aborted = true;
    this.#reason = reason;
    clearTimeout(this.#timer);
    this.#controller?.abort(reason);
  }
}

/**
 * Reason of the signal of a call whose client disconnected. One instance for all calls: only the error's name matters.
 */
export const DISCONNECTED = new DOMException("the client disconnected", "AbortError");

const FINISHED = new DOMException("the call has ended", "AbortError");

function deadlineExceeded(): ConnectError {
  return new ConnectError("the operation timed out", Code.DeadlineExceeded);
}
