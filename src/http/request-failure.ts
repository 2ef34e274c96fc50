import { type SDKError, toSdkError } from "../core/errors.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";

/**
 * Returns the error of a failed request. If the server stopped the work for it, that is the error: others are
 * consequences. Undefined if the caller has disconnected: nobody is left to read an error.
 * @param signal The signal of the request.
 */
export function toRequestFailure(thrown: unknown, signal: AbortSignal): SDKError | undefined {
  if (!signal.aborted) return toSdkError(thrown);
  const reason = toSdkError(signal.reason);
  return reason.kind === ErrorKind.ABORT ? undefined : reason;
}
