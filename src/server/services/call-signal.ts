import { Code, ConnectError } from "@connectrpc/connect";
import { AbortError, RequestTimeoutError, type SDKError, toSdkError } from "../../core/errors.ts";

/** A signal whose reason is one of our errors. */
export interface CallSignal {
  readonly signal: AbortSignal;
  /** Stops listening to the call. To be called when the work that it may end has ended. */
  release(): void;
}

/**
 * The signal of a call as adapters want it: a deadline aborts with RequestTimeoutError, a
 * caller who left with AbortError. So the status that follows says which of both it was.
 */
export function callSignalOf(call: AbortSignal): CallSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(reasonOf(call));
  if (call.aborted) abort();
  else call.addEventListener("abort", abort, { once: true });
  return { signal: controller.signal, release: () => call.removeEventListener("abort", abort) };
}

/**
 * The error of a call that failed: where its signal was aborted, whatever that made others
 * throw is the reason's doing, unless it says the same with more detail.
 */
export function failureOf(thrown: unknown, signal: AbortSignal): SDKError {
  const error = toSdkError(thrown);
  if (!signal.aborted) return error;
  const reason = toSdkError(signal.reason);
  return error.kind === reason.kind ? error : reason;
}

function reasonOf({ reason }: AbortSignal): SDKError {
  const timedOut = reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;
  if (timedOut) return new RequestTimeoutError("the caller's deadline ran out", { cause: reason });
  return new AbortError("the caller left", { cause: reason });
}
