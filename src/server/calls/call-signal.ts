import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import {
  AbortError,
  RequestTimeoutError,
  type SDKError,
  ServerError,
  toSdkError,
} from "../../core/errors.ts";

/** The sidecar stopped before the call had ended. Retryable: another instance may serve it. */
export class CutOffError extends ServerError {
  constructor() {
    super("the sidecar is stopping and did not wait for the call any longer");
  }
}

/** A signal whose reason is one of our errors. */
export interface CallSignal {
  readonly signal: AbortSignal;
  /** Aborts the work. */
  abort(reason: SDKError): void;
  /** Stops listening to the call. Must be called when the work that uses the signal is over. */
  release(): void;
}

/** The signals of the calls of a service. */
export class CallSignals {
  readonly #controllers = new Set<AbortController>();

  /**
   * Returns the signal of a call in the form that adapters take: a deadline aborts it with RequestTimeoutError, a
   * disconnect with AbortError, so that the call gets the right status.
   */
  open(call: AbortSignal): CallSignal {
    const controller = new AbortController();
    const abort = () => controller.abort(getReason(call));
    if (call.aborted) abort();
    else call.addEventListener("abort", abort, { once: true });
    this.#controllers.add(controller);
    const release = () => {
      call.removeEventListener("abort", abort);
      this.#controllers.delete(controller);
    };
    return { signal: controller.signal, abort: (reason) => controller.abort(reason), release };
  }

  /** Aborts the signals of all calls in progress with CutOffError. */
  cutOff(): void {
    for (const controller of this.#controllers) controller.abort(new CutOffError());
  }
}

/** Returns the time of a call's deadline, in milliseconds of `performance.now()`; undefined if it has none. */
export function getDeadline({ timeoutMs }: Pick<HandlerContext, "timeoutMs">): number | undefined {
  const left = timeoutMs();
  return left === undefined ? undefined : performance.now() + left;
}

/**
 * Returns the error of a failed call. If its signal was aborted, other errors are consequences: the reason of the
 * signal is returned, unless the thrown error has the same kind and more detail.
 */
export function errorOfCall(thrown: unknown, signal: AbortSignal): SDKError {
  const error = toSdkError(thrown);
  if (!signal.aborted) return error;
  const reason = toSdkError(signal.reason);
  return error.kind === reason.kind ? error : reason;
}

function getReason({ reason }: AbortSignal): SDKError {
  const timedOut = reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;
  if (timedOut) return new RequestTimeoutError("the caller's deadline ran out", { cause: reason });
  return new AbortError("the caller disconnected", { cause: reason });
}
