import type { IncomingHttpHeaders } from "node:http2";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import { type Call, callKey } from "../telemetry/call.ts";
import { Metadata } from "./metadata.ts";

/**
 * What a service sees of a gRPC call: the HandlerContext that it has under Connect. Whatever
 * a service may never ask for is made when it asks.
 */
export class GrpcContext implements HandlerContext {
  readonly method: DescMethod;
  readonly protocolName = "grpc";
  readonly requestMethod = "POST";
  readonly #call: Call;
  readonly #headers: IncomingHttpHeaders;
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

  constructor(method: DescMethod, call: Call, headers: IncomingHttpHeaders) {
    this.method = method;
    this.#call = call;
    this.#headers = headers;
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
    this.#requestHeader ??= Metadata.from(this.#headers);
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
    this.#values ??= createContextValues().set(callKey, this.#call);
    return this.#values;
  }

  get url(): string {
    const { ":scheme": scheme = "http", ":authority": authority, host, ":path": path } = this.#headers;
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

  /** The headers that the service has set; undefined where it has none. */
  get ownHeader(): Metadata | undefined {
    return this.#responseHeader;
  }

  /** The trailers that the service has set; undefined where it has none. */
  get ownTrailer(): Metadata | undefined {
    return this.#responseTrailer;
  }

  /** Calls back when the call is aborted before its end. One at a time; undefined for none. */
  set onAbort(listener: ((reason: unknown) => void) | undefined) {
    this.#onAbort = listener;
    if (this.#aborted) listener?.(this.#reason);
  }

  /** Ends the call early, for all that hear its signal. Without effect on one that has ended. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#stop(reason);
    this.#onAbort?.(reason);
  }

  /** The call has come to its end. Its signal fires then too, as it does under Connect. */
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

/** Why the signal of a caller who left is aborted. One for all: what matters is its name. */
export const LEFT = new DOMException("the caller left", "AbortError");

const FINISHED = new DOMException("the call has ended", "AbortError");

function deadlineExceeded(): ConnectError {
  return new ConnectError("the operation timed out", Code.DeadlineExceeded);
}
