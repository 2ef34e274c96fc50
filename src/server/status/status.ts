/** Converts failures to RPC statuses: our errors, and errors that a transport found. No other module does that. */

import { createRegistry, type DescMessage, type Registry } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { withImports } from "../../core/descriptor-files.ts";
import { InvalidRequestError, invalidFields, RequestTimeoutError, type SDKError } from "../../core/errors.ts";
import { CatalogService } from "../../gen/outrigger/v1/catalog_service_pb.ts";
import { InferenceService } from "../../gen/outrigger/v1/inference_service_pb.ts";
import { RunStateError } from "../../runs/errors.ts";
import {
  enumTypeIn,
  isJsonFault,
  isParseFault,
  isWriteFault,
  tooLargeSizes,
  withoutQuotes,
} from "../internals/error-texts.ts";
import { boundedText } from "./bounded-text.ts";
import { findJsonViolations } from "./json-violations.ts";
import { getCode } from "./status-code.ts";
import { type ErrorFacts, getRetryDelay, publicMessage, toDetails } from "./status-details.ts";

/** Trailer that controls the automatic retries of a gRPC client: milliseconds to wait, or -1 for no retry. */
export const RETRY_PUSHBACK_TRAILER = "grpc-retry-pushback-ms";

/** Header with the same meaning for HTTP clients, in whole seconds. */
export const RETRY_AFTER_HEADER = "retry-after";

/**
 * Returns the status of a failure: code and message, the details InferenceError and ErrorInfo, RetryInfo and BadRequest
 * if they apply, and the trailers that control retries. The error itself is the `cause`, which is not sent.
 */
export function toConnectError(error: SDKError, facts: ErrorFacts = {}): ConnectError {
  return new ConnectError(
    publicMessage(error),
    codeOfError(error),
    toRetryTrailers(error),
    toDetails(error, facts),
    error,
  );
}

/**
 * Returns the code of the error's kind, or FAILED_PRECONDITION if the state of the call's object has to change before
 * it can succeed.
 */
function codeOfError(error: SDKError): Code {
  return error instanceof RunStateError ? Code.FailedPrecondition : getCode(error.kind);
}

/** The status that a call failed with, and the thrown value of a bug. */
export interface Failure {
  readonly status: ConnectError;
  readonly fault: unknown;
}

/**
 * Returns the failure of a call that threw: a ConnectError as it is, with the details of our contract if a transport
 * created it; any other value is a bug of this program.
 * @param rpc Service and method of the call.
 */
export function toFailure(thrown: unknown, rpc: string): Failure {
  const isStatus = thrown instanceof ConnectError;
  const fault = isStatus && !isWriteFault(thrown) ? undefined : thrown;
  const status = isStatus ? thrown : new ConnectError("internal error", Code.Internal);
  describeProtocolError(status, rpc);
  return { status, fault };
}

/**
 * Rewrites a status that a transport created (a message that does not parse or is too large, an expired deadline). It
 * does so in place, because Connect sends the object that it threw. Calls of Outrigger's services get the details of
 * their contract, others code and message. A status that has details, or another code, is left alone.
 */
export function describeProtocolError(error: ConnectError, rpc: string): void {
  if (error.details.length > 0) return;
  const ours = toProtocolError(error);
  if (ours !== undefined) replace(error, toConnectError(ours), OUR_RPC.test(rpc));
}

/**
 * Rewrites the status of a request whose JSON does not fit its type, in place: names all wrong fields with their paths,
 * what was found and what was expected. Other errors, and messages of foreign services, are left alone.
 * @param desc Type of the request.
 * @param json The refused text, in UTF-8.
 */
export function describeJsonFault(error: unknown, desc: DescMessage, json: Uint8Array): void {
  const isOurs = error instanceof ConnectError && isJsonFault(error) && OUR_RPC.test(desc.typeName);
  if (!isOurs || json.byteLength > MAX_SEARCHED_BYTES) return;
  const parsed = parsedJson(json);
  const violations = parsed === undefined ? [] : findJsonViolations(desc, parsed);
  if (violations.length > 0) replace(error, toConnectError(invalidFields(violations)), true);
}

/** Parses JSON. Undefined if the bytes are not JSON. */
function parsedJson(json: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(json).toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Larger JSON is not searched, since that takes about as long as decoding it. */
const MAX_SEARCHED_BYTES = 4 * 1024 * 1024;

const OUR_RPC = /^outrigger\./;

function replace(error: ConnectError, by: ConnectError, withDetails: boolean): void {
  const { details, metadata, message, rawMessage, cause } = by;
  const code = error.code === Code.Internal ? Code.InvalidArgument : error.code;
  Object.assign(error, { code, message, rawMessage, cause });
  if (!withDetails) return;
  error.details = details;
  for (const [name, value] of metadata) error.metadata.set(name, value);
}

function toProtocolError(error: ConnectError): SDKError | undefined {
  const message = protocolMessage(error.rawMessage);
  switch (error.code) {
    case Code.InvalidArgument:
    case Code.ResourceExhausted:
      return new InvalidRequestError(message);
    case Code.Internal:
      // Other errors in a request stay INTERNAL, as in gRPC: a compressed message without a header that announces it,
      // unknown flags.
      return isParseFault(error) ? new InvalidRequestError(message) : undefined;
    case Code.DeadlineExceeded:
      return new RequestTimeoutError("the caller's deadline ran out");
    default:
      return undefined;
  }
}

function toRetryTrailers(error: SDKError): Record<string, string> {
  if (!error.retryable) return { [RETRY_PUSHBACK_TRAILER]: "-1" };
  const delay = getRetryDelay(error);
  if (delay === undefined) return {};
  return {
    [RETRY_PUSHBACK_TRAILER]: String(Math.ceil(delay * 1000)),
    [RETRY_AFTER_HEADER]: String(Math.ceil(delay)),
  };
}

/**
 * Returns the message for a request that Connect or protobuf-es could not read: their text, at most 384 bytes, without
 * the parts of the request that it quotes, since a text in place of a list of parts usually is the prompt. An unknown
 * enum value is kept, and the known values are added.
 */
export function protocolMessage(message: string): string {
  const sizes = tooLargeSizes(message);
  if (sizes !== undefined) return describeSizes(sizes);
  return boundedText(withoutQuotes(message), MAX_BYTES) + enumHint(message);
}

const MAX_BYTES = 384;

function describeSizes({ size, limit }: { size: string | undefined; limit: string }): string {
  const found = size === undefined ? "more" : `${size} bytes`;
  return `the message is too large: expected at most ${limit} bytes (limits.max_message_bytes), found ${found}`;
}

/**
 * Lists the known values for a message about an enum value that does not parse: `; expected one of ROLE_SYSTEM,
 * ROLE_USER`. Empty for any other message. Hand-written JSON often has `"role": "user"`.
 */
function enumHint(message: string): string {
  const typeName = enumTypeIn(message) ?? "";
  const values =
    enums()
      .getEnum(typeName)
      ?.values.filter(({ number }) => number !== 0) ?? [];
  return values.length === 0 ? "" : `; expected one of ${values.map(({ name }) => name).join(", ")}`;
}

let registry: Registry | undefined;

function enums(): Registry {
  registry ??= createRegistry(...withImports([InferenceService.file, CatalogService.file]).values());
  return registry;
}
