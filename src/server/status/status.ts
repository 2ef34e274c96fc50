/** The one place where failures become RPC statuses: ours, and those that Connect finds by itself. */
import { Code, ConnectError } from "@connectrpc/connect";
import { InvalidRequestError, RequestTimeoutError, type SDKError } from "../../core/errors.ts";
import type { Call } from "../telemetry/call.ts";
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
  const isStatus = thrown instanceof ConnectError;
  if (!isStatus || WRITE_FAULT.test(thrown.rawMessage)) call.fault = thrown;
  const status = isStatus ? thrown : new ConnectError("internal error", Code.Internal);
  describeProtocolError(status, call);
  call.code = status.code;
  return status;
}

/**
 * Makes a status of ours of one that a transport found (a message that does not parse or is too
 * large, a deadline that ran out), in place: Connect writes the object it threw. The calls of
 * Outrigger's own services get the details that their contract has, others code and message.
 * A status that has details, and one of another code, is left alone.
 */
export function describeProtocolError(error: ConnectError, { rpc }: Pick<Call, "rpc">): void {
  if (error.details.length > 0) return;
  const ours = protocolErrorOf(error);
  if (ours === undefined) return;
  const { details, metadata, message, rawMessage, cause } = connectErrorOf(ours);
  const code = error.code === Code.Internal ? Code.InvalidArgument : error.code;
  Object.assign(error, { code, message, rawMessage, cause });
  if (!OUR_RPC.test(rpc)) return;
  error.details = details;
  for (const [name, value] of metadata) error.metadata.set(name, value);
}

const OUR_RPC = /^outrigger\./;

// As Connect and protobuf-es word them.
const PARSE_FAULT = /^parse binary: /;
const WRITE_FAULT = /^(?:serialize binary: |cannot encode )/;

function protocolErrorOf(error: ConnectError): SDKError | undefined {
  const message = protocolMessage(error.rawMessage);
  switch (error.code) {
    case Code.InvalidArgument:
    case Code.ResourceExhausted:
      return new InvalidRequestError(message);
    case Code.Internal:
      // Other faults of a request stay INTERNAL, as gRPC has it: a message that is compressed
      // where no header says so, flags that it does not know.
      return PARSE_FAULT.test(error.rawMessage) ? new InvalidRequestError(message) : undefined;
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
