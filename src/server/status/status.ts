/** Converts failures to RPC statuses: our errors, and errors that a transport found. No other module does that. */

import { Code, ConnectError } from "@connectrpc/connect";
import { InvalidRequestError, RequestTimeoutError, SDKError } from "../../core/errors.ts";
import { boundedText } from "../../core/text.ts";
import { RunStateError } from "../../runs/errors.ts";
import { getCode } from "./status-code.ts";
import { type ErrorFacts, getRetryDelay, publicMessage, toDetails } from "./status-details.ts";

/** Trailer that controls the automatic retries of a gRPC client: milliseconds to wait, or -1 for no retry. */
const RETRY_PUSHBACK_TRAILER = "grpc-retry-pushback-ms";

/** Header with the same meaning for HTTP clients, in whole seconds. */
export const RETRY_AFTER_HEADER = "retry-after";

/**
 * Returns the status of a failure: code and message, the details InferenceError and ErrorInfo, RetryInfo and BadRequest
 * if they apply, and the trailers that control retries. The error itself is the `cause`, which is not sent.
 */
export function toConnectError(error: SDKError, facts: ErrorFacts = {}): ConnectError {
  return new ConnectError(
    publicMessage(error),
    toCode(error),
    toRetryTrailers(error),
    toDetails(error, facts),
    error,
  );
}

/**
 * Returns the code of the error's kind, or FAILED_PRECONDITION if the state of the call's object has to change before
 * it can succeed.
 */
function toCode(error: SDKError): Code {
  return error instanceof RunStateError ? Code.FailedPrecondition : getCode(error.kind);
}

/** The status that a call failed with, and the thrown value of a bug. */
export interface Failure {
  readonly status: ConnectError;
  readonly fault: unknown;
}

/**
 * Returns the failure of a call that threw: a ConnectError as it is, with the details of our contract if a transport
 * created it; the status of one of our errors, which a call that ends early has; any other value is a bug of this
 * program.
 * @param rpc Service and method of the call.
 */
export function toFailure(thrown: unknown, rpc: string): Failure {
  if (thrown instanceof SDKError) {
    const status = toConnectError(thrown);
    // Other contracts know no details of ours.
    const isOurs = OUR_TYPE.test(rpc);
    return {
      status: isOurs
        ? status
        : new ConnectError(status.rawMessage, status.code, undefined, undefined, thrown),
      fault: undefined,
    };
  }
  if (!(thrown instanceof ConnectError))
    return { status: new ConnectError("internal error", Code.Internal), fault: thrown };
  const error = thrown.details.length > 0 ? undefined : toProtocolError(thrown);
  if (error !== undefined) replaceStatus(thrown, toConnectError(error), rpc);
  return { status: thrown, fault: undefined };
}

/** Names of our services, methods and types. */
export const OUR_TYPE = /^outrigger\./;

/**
 * Replaces a status that a transport or Connect created (a message that does not parse or is too large, an expired
 * deadline), in place, because Connect sends the object that it threw. Calls of Outrigger's services get the details of
 * their contract; other calls get only the code and the message.
 */
export function replaceStatus(error: ConnectError, replacement: ConnectError, rpc: string): void {
  const { code, details, metadata, message, rawMessage, cause } = replacement;
  // Our kinds of errors have no code for a message that is too large.
  const kept = error.code === Code.ResourceExhausted ? error.code : code;
  Object.assign(error, { code: kept, message, rawMessage, cause });
  if (!OUR_TYPE.test(rpc)) return;
  error.details = details;
  for (const [name, value] of metadata) error.metadata.set(name, value);
}

/** Returns our error for a status that a transport created. Undefined if the status itself is enough. */
function toProtocolError({ code, rawMessage }: ConnectError): SDKError | undefined {
  switch (code) {
    case Code.InvalidArgument:
    case Code.ResourceExhausted:
      return new InvalidRequestError(boundedText(rawMessage, MAX_MESSAGE_BYTES));
    case Code.DeadlineExceeded:
      return new RequestTimeoutError("the caller's deadline was exceeded");
    default:
      // Other errors in a request stay INTERNAL, as in gRPC: unknown flags, or a compressed message without a header
      // that announces it.
      return undefined;
  }
}

const MAX_MESSAGE_BYTES = 384;

function toRetryTrailers(error: SDKError): Record<string, string> {
  if (!error.retryable) return { [RETRY_PUSHBACK_TRAILER]: "-1" };
  const delay = getRetryDelay(error);
  if (delay === undefined) return {};
  return {
    [RETRY_PUSHBACK_TRAILER]: String(Math.ceil(delay * 1000)),
    [RETRY_AFTER_HEADER]: String(Math.ceil(delay)),
  };
}
