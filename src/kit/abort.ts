import { AbortError, SDKError } from "../spec/errors.ts";

/**
 * The error of a call whose signal was aborted: the reason itself where that is one of ours
 * (a deadline aborts with RequestTimeoutError), else AbortError.
 */
export function abortErrorOf(signal: AbortSignal): SDKError {
  const reason: unknown = signal.reason;
  return reason instanceof SDKError ? reason : new AbortError("the call was cancelled", { cause: reason });
}
