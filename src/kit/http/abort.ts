import { AbortError, RequestTimeoutError, SDKError } from "../../core/errors.ts";

/**
 * Returns the error of a call whose signal was aborted: the reason itself if it is an SDKError (a deadline aborts with
 * RequestTimeoutError), RequestTimeoutError for `AbortSignal.timeout()`, else AbortError.
 */
export function toAbortError(signal: AbortSignal): SDKError {
  const reason: unknown = signal.reason;
  if (reason instanceof SDKError) return reason;
  if (reason instanceof Error && reason.name === "TimeoutError") {
    return new RequestTimeoutError("the caller's time limit was exceeded", { cause: reason });
  }
  return new AbortError("the call was cancelled", { cause: reason });
}
