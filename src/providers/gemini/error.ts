/** Their failure -> our InferenceError: of an HTTP answer, or in a body or stream that began with success. */

import type { SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import { kindOfStatus } from "../../kit/adapter/classify.ts";
import { readFailureBody } from "../../kit/adapter/failure-body.ts";
import type { WireFailure } from "../../kit/adapter/http-adapter.ts";
import { createProviderError, type ReportedFailure } from "../../kit/adapter/provider-error.ts";
import type { FieldNames } from "../../kit/adapter/refused-field.ts";
import type { CallFacts } from "../../kit/call/call-facts.ts";
import { getRetryAfter, parseRetryDelay } from "../../kit/http/retry-after.ts";
import { asInt32, asObject, asString, objectIn, objectsIn, textIn } from "../../kit/json/json.ts";
import type {
  BadRequest,
  ErrorBody,
  ErrorDetail,
  ErrorInfo,
  ErrorMetadata,
  FieldViolation,
  QuotaFailure,
  QuotaViolation,
  RetryInfo,
  RpcStatus,
} from "../../wire/gemini/error.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { isContextOverflow } from "../context-overflow.ts";

/** A `google.rpc.Status` with its details (provider documentation: "Troubleshooting"; google/rpc/status.proto). */
interface StatusDetails {
  /** The HTTP status, as the body gives it. */
  readonly code: number | undefined;
  /** The canonical code by name, for instance `RESOURCE_EXHAUSTED`. */
  readonly status: string;
  readonly message: string;
  /** `ErrorInfo.reason`, for instance `API_KEY_INVALID`. */
  readonly reason: string;
  /** The exceeded limit, in `ErrorInfo.metadata`. */
  readonly limit: string;
  /** `QuotaFailure`: the exceeded quotas. */
  readonly quotaIds: readonly string[];
  /** `BadRequest`: the first field that is wrong, in snake case. */
  readonly field: string;
  /** `RetryInfo`, in seconds. */
  readonly retryDelay: number | undefined;
}

/** Converts a failed HTTP answer to an SDKError. */
export function toError({ provider, status, headers, body, request }: WireFailure): SDKError {
  const { object = {}, text } = readFailureBody<ErrorBody>(body);
  return createProviderError(toFailure(readStatus(object, text), status), {
    provider,
    request,
    body,
    httpStatusCode: status,
    retryAfter: getRetryAfter(headers),
  });
}

/** Returns the failure in an object that holds `error`: an event of a stream, or a body that came with success. */
export function reportedError(
  holder: Untrusted<ErrorBody>,
  { provider, providerRequestId, request, withoutKeys }: CallFacts,
): SDKError {
  const source = { provider, request, body: holder, requestId: providerRequestId, withoutKeys };
  return createProviderError(toFailure(readStatus(holder), undefined), source);
}

/** Returns the status in a body. @param text The body if it is not an object. */
function readStatus(holder: Untrusted<ErrorBody>, text = ""): StatusDetails {
  const error: Untrusted<RpcStatus> = asObject<RpcStatus>(holder.error) ?? holder;
  const details = objectsIn<ErrorDetail>(error.details);
  const info: Untrusted<ErrorInfo> = findDetail(details, "ErrorInfo");
  const quota: Untrusted<QuotaFailure> = findDetail(details, "QuotaFailure");
  const retry: Untrusted<RetryInfo> = findDetail(details, "RetryInfo");
  const request: Untrusted<BadRequest> = findDetail(details, "BadRequest");
  return {
    code: asInt32(error.code),
    status: textIn(error.status),
    message: asString(error.message) ?? asString(holder.error) ?? asString(holder.detail) ?? text,
    reason: textIn(info.reason),
    limit: textIn(objectIn<ErrorMetadata>(info.metadata).quota_limit_value),
    quotaIds: objectsIn<QuotaViolation>(quota.violations).map(({ quotaId }) => textIn(quotaId)),
    field: toSnakeCase(textIn(objectsIn<FieldViolation>(request.fieldViolations)[0]?.field)),
    retryDelay: parseRetryDelay(textIn(retry.retryDelay)),
  };
}

function findDetail(details: readonly Untrusted<ErrorDetail>[], name: string): Untrusted<ErrorDetail> {
  return details.find((detail) => textIn(detail["@type"]).endsWith(`google.rpc.${name}`)) ?? {};
}

function toSnakeCase(path: string): string {
  return path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const FIELD_NAMES: FieldNames = [
  ["model", "model"],
  ["contents", "messages"],
  ["system_instruction", "messages"],
  ["generation_config.max_output_tokens", "max_tokens"],
  ["generation_config.temperature", "temperature"],
  ["generation_config.top_p", "top_p"],
  ["generation_config.stop_sequences", "stop_sequences"],
  ["generation_config.thinking_config", "reasoning_effort"],
  ["generation_config.response_json_schema", "response_format.schema_json"],
  ["generation_config.response_schema", "response_format.schema_json"],
  ["generation_config.response_mime_type", "response_format"],
  ["tools", "tools"],
  ["tool_config", "tool_choice"],
];

function toFailure(details: StatusDetails, httpStatus: number | undefined): ReportedFailure {
  const { reason, status, retryDelay, message, field } = details;
  return {
    code: reason || status,
    message,
    // All functions are in one tool.
    field: field.replace(/^tools\[\d+\]\.function_declarations/, "tools"),
    fieldNames: FIELD_NAMES,
    retryAfter: retryDelay,
    getKind: (message) => getKind({ ...details, message }, httpStatus),
  };
}

/**
 * Returns the kind of a failure: by its codes first, then by the HTTP status; the message only distinguishes failures
 * with 400 or 429.
 */
function getKind(details: StatusDetails, httpStatus: number | undefined): ErrorKind {
  const status = httpStatus ?? details.code;
  const { reason, message } = details;
  // The status comes from a gateway, whose body may say something else.
  if (httpStatus === 408) return ErrorKind.REQUEST_TIMEOUT;
  if (isContextOverflow({ codes: [reason, details.status], message, status }))
    return ErrorKind.CONTEXT_LENGTH;
  const known =
    KIND_OF_STATUS.get(details.status) ?? (status === undefined ? undefined : kindOfStatus(status));
  switch (known) {
    case ErrorKind.INVALID_REQUEST:
      return getInvalidRequestKind(details);
    case ErrorKind.RATE_LIMIT:
      return isUsedUp(details) ? ErrorKind.QUOTA_EXCEEDED : ErrorKind.RATE_LIMIT;
    default:
      return known ?? ErrorKind.PROVIDER;
  }
}

function getInvalidRequestKind({ reason, message }: StatusDetails): ErrorKind {
  // The API answers a wrong key with 400.
  if (reason === "API_KEY_INVALID" || /^API key (?:not valid|expired)/.test(message))
    return ErrorKind.AUTHENTICATION;
  return ErrorKind.INVALID_REQUEST;
}

/** Reports whether waiting does not help: a daily quota, a quota of zero, or an account without money. */
function isUsedUp({ quotaIds, limit, message, retryDelay }: StatusDetails): boolean {
  if (quotaIds.some((id) => id.includes("PerDay")) || limit === "0" || /\blimit: 0\b/.test(message))
    return true;
  // The message for every quota mentions billing; it is about billing only if no quota and no delay is given.
  return quotaIds.length === 0 && retryDelay === undefined && /\bbilling\b|\bcredits?\b/i.test(message);
}

/** By canonical code (google/rpc/code.proto). */
const KIND_OF_STATUS: ReadonlyMap<string, ErrorKind> = new Map([
  ["INVALID_ARGUMENT", ErrorKind.INVALID_REQUEST],
  // An unsupported country, or an account without billing.
  ["FAILED_PRECONDITION", ErrorKind.ACCESS_DENIED],
  ["OUT_OF_RANGE", ErrorKind.INVALID_REQUEST],
  ["UNAUTHENTICATED", ErrorKind.AUTHENTICATION],
  ["PERMISSION_DENIED", ErrorKind.ACCESS_DENIED],
  ["NOT_FOUND", ErrorKind.NOT_FOUND],
  ["ABORTED", ErrorKind.PROVIDER],
  ["ALREADY_EXISTS", ErrorKind.INVALID_REQUEST],
  ["RESOURCE_EXHAUSTED", ErrorKind.RATE_LIMIT],
  ["CANCELLED", ErrorKind.ABORT],
  ["UNKNOWN", ErrorKind.SERVER],
  ["INTERNAL", ErrorKind.SERVER],
  ["DATA_LOSS", ErrorKind.SERVER],
  ["UNIMPLEMENTED", ErrorKind.INVALID_REQUEST],
  ["UNAVAILABLE", ErrorKind.SERVER],
  ["DEADLINE_EXCEEDED", ErrorKind.REQUEST_TIMEOUT],
]);
