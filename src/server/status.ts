/** The one place where failures become RPC statuses: ours, and those that Connect finds by itself. */
import { Code, ConnectError } from "@connectrpc/connect";
import { InvalidRequestError, RequestTimeoutError, type SDKError } from "../spec/errors.ts";
import type { Call } from "./call.ts";
import { protocolMessage } from "./protocol-message.ts";
import { codeOf } from "./status-code.ts";
import { detailsOf, type ErrorFacts, publicMessage, retryDelayOf } from "./status-details.ts";

/** Trailer by which a gRPC client's automatic retries are told when: milliseconds, or -1 for not at all. */
export const RETRY_PUSHBACK_TRAILER = "grpc-retry-pushback-ms";

/** Header by which HTTP callers are told the same: whole seconds. */
export const RETRY_AFTER_HEADER = "retry-after";

/**
 * The status of a failure: code and message, the details InferenceError and ErrorInfo, RetryInfo
 * and BadRequest where they apply, and the trailers that steer retries. The error itself is
 * the `cause`, which is not sent.
 */
export function connectErrorOf(error: SDKError, facts: ErrorFacts = {}): ConnectError {
  return new ConnectError(
    publicMessage(error),
    codeOf(error.kind),
    retryTrailersOf(error),
    detailsOf(error, facts),
    error,
  );
}

/**
 * Writes down how a call failed, and gives the status that says so: a ConnectError as it is, with
 * the details of ours where a transport found it; whatever else was thrown is a bug of ours.
 */
export function noteFailure(call: Call, thrown: unknown): ConnectError {
  if (thrown instanceof ConnectError) {
    describeProtocolError(thrown, call.served);
    call.code = thrown.code;
    return thrown;
  }
  call.code = Code.Internal;
  call.fault = thrown;
  return new ConnectError("internal error", Code.Internal);
}

/**
 * Gives a status that Connect itself found (a message that does not parse or is too large, a
 * deadline that ran out) the details of ours, in place: Connect writes the object it threw.
 * A status that has details, and one of another code, is left alone.
 * @param served Whether a service had the request. If not, a fault that Connect calls its own
 *   (binary that does not parse is INTERNAL there) was the caller's.
 */
export function describeProtocolError(error: ConnectError, served: boolean): void {
  if (error.details.length > 0) return;
  const ours = protocolErrorOf(error, served);
  if (ours === undefined) return;
  const { details, metadata, message, rawMessage, cause } = connectErrorOf(ours);
  for (const [name, value] of metadata) error.metadata.set(name, value);
  const code = error.code === Code.Internal ? Code.InvalidArgument : error.code;
  Object.assign(error, { code, details, message, rawMessage, cause });
}

function protocolErrorOf(error: ConnectError, served: boolean): SDKError | undefined {
  const message = protocolMessage(error.rawMessage);
  switch (error.code) {
    case Code.InvalidArgument:
    case Code.ResourceExhausted:
      return new InvalidRequestError(message);
    case Code.Internal:
      return served ? undefined : new InvalidRequestError(message);
    case Code.DeadlineExceeded:
      return new RequestTimeoutError("the caller's deadline ran out");
    default:
      return undefined;
  }
}

function retryTrailersOf(error: SDKError): Record<string, string> {
  if (!error.retryable) return { [RETRY_PUSHBACK_TRAILER]: "-1" };
  const delay = retryDelayOf(error);
  if (delay === undefined) return {};
  return {
    [RETRY_PUSHBACK_TRAILER]: String(Math.ceil(delay * 1000)),
    [RETRY_AFTER_HEADER]: String(Math.ceil(delay)),
  };
}
