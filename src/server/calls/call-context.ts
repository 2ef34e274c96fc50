/** The call that a service serves: its recorder, its memory, and the signal that ends its work early. */
import type { IncomingHttpHeaders } from "node:http2";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import {
  AbortError,
  RequestTimeoutError,
  type SDKError,
  ServerError,
  toSdkError,
} from "../../core/errors.ts";
import type { CallMemory } from "../requests/request-memory.ts";
import { Metadata } from "../status/metadata.ts";
import { CallRecorder } from "../telemetry/call-recorder.ts";

/** The parts of a call that its transport passes to its service. */
export interface ServedCall {
  readonly recorder: CallRecorder;
  /** Accounts for the memory of the call. Undefined if its transport limits no memory. */
  readonly share: CallMemory | undefined;
}

/** Key under which a transport puts the call into the context values. */
export const servedCallKey = createContextKey<ServedCall | undefined>(undefined, {
  description: "the call being served",
});

/** Returns the call of a context. If the transport has set none, returns one that is not observed. */
export function getServedCall(context: Pick<HandlerContext, "method" | "values">): ServedCall {
  if (context instanceof CallContext) return context;
  const { method, values } = context;
  const call = values.get(servedCallKey);
  if (call !== undefined) return call;
  const rpc = `${method.parent.typeName}/${method.name}`;
  return {
    recorder: new CallRecorder({ rpc, requestId: "", httpVersion: "", protocol: "" }, []),
    share: undefined,
  };
}

/** The work for one call. */
export interface CallWork {
  /** Aborted with one of our errors. */
  readonly signal: AbortSignal;
  abort(reason: SDKError): void;
  /** Must be called when the work is over. Can be called again. */
  release?(): void;
}

/** The work for the calls of a service that are in progress. */
export type CallsInProgress = Set<CallWork>;

/** Aborts the work for all calls when the server stops. */
export function abortCalls(calls: CallsInProgress): void {
  for (const work of calls) work.abort(new ShutdownError());
}

/** The sidecar stopped before the call had ended. Retryable: another instance may serve it. */
export class ShutdownError extends ServerError {
  constructor() {
    super("the sidecar is stopping and did not wait for the call any longer");
  }
}

/**
 * Work for a call of a transport that aborts the call's signal with its own errors. The signal of the work is aborted
 * with our errors instead: RequestTimeoutError for a deadline, AbortError for a disconnect, so that the call gets the
 * right status.
 */
export class ForwardedWork implements CallWork {
  readonly #controller = new AbortController();
  readonly #call: AbortSignal;

  constructor(call: AbortSignal) {
    this.#call = call;
    if (call.aborted) this.#onAbort();
    else call.addEventListener("abort", this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: SDKError): void {
    this.#controller.abort(reason);
  }

  /** Stops listening to the call. */
  release(): void {
    this.#call.removeEventListener("abort", this.#onAbort);
  }

  readonly #onAbort = (): void => {
    const { reason }: { readonly reason: unknown } = this.#call;
    const timedOut = reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;
    this.abort(timedOut ? createTimeout(reason) : createDisconnect(reason));
  };
}

/** Returns the error of a call whose deadline has passed. */
function createTimeout(cause?: unknown): SDKError {
  return new RequestTimeoutError("the caller's deadline was exceeded", { cause });
}

/** Returns the error of a call whose client closed the stream. */
export function createDisconnect(cause?: unknown): SDKError {
  return new AbortError("the caller disconnected", { cause });
}

/**
 * Returns the error of a failed call. If its signal was aborted, other errors are consequences: the reason of the
 * signal is returned, unless the thrown error has the same kind and more detail.
 */
export function toCallError(thrown: unknown, signal: AbortSignal): SDKError {
  const error = toSdkError(thrown);
  if (!signal.aborted) return error;
  const reason = toSdkError(signal.reason);
  return error.kind === reason.kind ? error : reason;
}

/** The request of a call, as read by its protocol. */
export interface ContextOptions {
  /** Connect's name of the protocol: `grpc`, `grpc-web` or `connect`. */
  readonly protocolName: string;
  readonly headers: IncomingHttpHeaders;
  /** With the query. */
  readonly path: string;
}

/**
 * The HandlerContext of a call, as a service gets it from Connect, and the work for the call. Its parts are created on
 * first use. Its signal is aborted with one of our errors, and only if the call ends early.
 */
export class CallContext implements HandlerContext, ServedCall, CallWork {
  readonly method: DescMethod;
  readonly requestMethod = "POST";
  readonly recorder: CallRecorder;
  /** Must be set before the service is called. */
  share: CallMemory | undefined;
  /** The headers that the service has set; undefined if there are none. */
  serviceHeader: Metadata | undefined;
  /** The trailers that the service has set; undefined if there are none. */
  serviceTrailer: Metadata | undefined;
  /** Called when the call is aborted before its end. */
  onAbort: ((reason: SDKError) => void) | undefined;
  /** In milliseconds of `performance.now()`; undefined if there is none. */
  deadline: number | undefined;
  readonly #options: ContextOptions;
  #timer: NodeJS.Timeout | undefined;
  #controller: AbortController | undefined;
  #reason: SDKError | undefined;
  #hasEnded = false;
  #requestHeader: Metadata | undefined;
  #values: ContextValues | undefined;

  constructor(method: DescMethod, recorder: CallRecorder, options: ContextOptions) {
    this.method = method;
    this.recorder = recorder;
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
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= Metadata.from(this.#options.headers);
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.serviceHeader ??= new Metadata();
    return this.serviceHeader;
  }

  get responseTrailer(): Headers {
    this.serviceTrailer ??= new Metadata();
    return this.serviceTrailer;
  }

  get values(): ContextValues {
    this.#values ??= createContextValues().set(servedCallKey, this);
    return this.#values;
  }

  get url(): string {
    const { headers, path } = this.#options;
    const { ":scheme": scheme = "http", ":authority": authority, host } = headers;
    return `${scheme}://${authority ?? host ?? "localhost"}${path}`;
  }

  timeoutMs(): number | undefined {
    return this.deadline === undefined ? undefined : this.deadline - performance.now();
  }

  /** Sets the call's deadline, in milliseconds from now. */
  expireIn(timeoutMs: number): void {
    if (this.#hasEnded) return;
    this.deadline = performance.now() + timeoutMs;
    this.#timer = setTimeout(() => this.abort(createTimeout()), timeoutMs);
  }

  /** Ends the call early: aborts its signal. Has no effect on a call that has ended. */
  abort(reason: SDKError): void {
    if (this.#hasEnded) return;
    this.finish();
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.onAbort?.(reason);
  }

  /** Ends the call. Its signal is no longer aborted: all work for it is over. */
  finish(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }
}
