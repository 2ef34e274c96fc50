/** Their failure -> our InferenceError: from an HTTP answer, a body, or an event of a stream. */

import type { SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import { kindOfStatus } from "../../kit/adapter/classify.ts";
import { isFailureReport, readFailureBody } from "../../kit/adapter/failure-body.ts";
import type { WireFailure } from "../../kit/adapter/http-adapter.ts";
import { createProviderError, type ReportedFailure } from "../../kit/adapter/provider-error.ts";
import type { FieldNames } from "../../kit/adapter/refused-field.ts";
import type { CallFacts } from "../../kit/call/call-facts.ts";
import type { HttpHeaders } from "../../kit/http/headers.ts";
import { getRetryAfter, getShouldRetry } from "../../kit/http/retry-after.ts";
import { asObject, asString, objectIn, textIn } from "../../kit/json/json.ts";
import type {
  ErrorDetails,
  ErrorObject,
  ErrorType,
  FailureBody,
} from "../../wire/anthropic-messages/error.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { isContextOverflow } from "../context-overflow.ts";

/** A failure as a body reports it (provider documentation: "Errors"). */
interface FailureReport {
  /** `error.type`, the broad category. */
  readonly type: string;
  /** `error.details.error_code`; empty if the API gives none. */
  readonly code: string;
  readonly message: string;
  /** Id of the request; empty if the body has none. */
  readonly requestId: string;
}

/** Returns the provider's id of a request from the headers of its answer; empty if there is none. */
export function getRequestId(headers: Pick<HttpHeaders, "get">): string {
  return headers.get("request-id") ?? "";
}

/** Converts a failed HTTP answer to an SDKError. */
export function toError({ provider, status, headers, body, request }: WireFailure): SDKError {
  const { object = {}, text } = readFailureBody<FailureBody>(body);
  const report = readReport(object, text);
  return createProviderError(toFailure(report, status), {
    provider,
    request,
    body,
    httpStatusCode: status,
    requestId: getRequestId(headers) || report.requestId,
    retryable: getShouldRetry(headers),
    retryAfter: getRetryAfter(headers),
  });
}

/** Reports whether a body or an event is a failure instead of an answer. */
export function isFailure(body: Untrusted<FailureBody> | undefined): boolean {
  return body !== undefined && (body.type === "error" || isFailureReport(body));
}

/** Returns the failure in an `error` event, or in a body that came with success. */
export function reportedError(
  body: Untrusted<FailureBody>,
  { provider, providerRequestId, request, withoutKeys }: CallFacts,
): SDKError {
  const report = readReport(body);
  const requestId = providerRequestId || report.requestId;
  const source = { provider, request, body, requestId, withoutKeys };
  return createProviderError(toFailure(report, undefined), source);
}

/**
 * Reads a failure, which proxies and compatible servers report at the top level, or as plain text.
 * @param text The body if it is not an object.
 */
function readReport(body: Untrusted<FailureBody>, text = ""): FailureReport {
  const error: Untrusted<ErrorObject> = asObject<ErrorObject>(body.error) ?? body;
  const type = textIn(error.type);
  return {
    type: type === "error" ? "" : type,
    code: textIn(objectIn<ErrorDetails>(error.details).error_code),
    message: asString(error.message) ?? asString(body.error) ?? asString(body.detail) ?? text,
    requestId: textIn(body.request_id),
  };
}

function toFailure(report: FailureReport, status: number | undefined): ReportedFailure {
  const { type, code, message } = report;
  return {
    code: code || type,
    message,
    field: readField(message),
    fieldNames: FIELD_NAMES,
    hint: HINTS.get(type),
    getKind: (message) => getKind({ ...report, message }, status),
  };
}

/** The API names a field at the beginning of its message only: `messages.0.content: …`, or in backquotes. */
const FIELD = /^(?:`([a-z_]+)(?:\.\w+)*` |([a-z_]+)(?:\.\w+)*: )/;

function readField(message: string): string {
  const [beginning = "", quoted = "", plain = quoted] = FIELD.exec(message) ?? [];
  const isField = FIELD_NAMES.some(([name]) => name === plain) || PASSED_FIELDS.includes(plain);
  return isField ? beginning.replace(/[`:\s]/g, "") : "";
}

const FIELD_NAMES: FieldNames = [
  ["model", "model"],
  ["messages", "messages"],
  ["system", "messages"],
  ["max_tokens", "max_tokens"],
  ["thinking", "reasoning_effort"],
  ["output_config.effort", "reasoning_effort"],
  ["output_config.format.schema", "response_format.schema_json"],
  ["output_config", "response_format"],
  ["tools", "tools"],
  ["tool_choice", "tool_choice"],
  ["temperature", "temperature"],
  ["top_p", "top_p"],
  ["stop_sequences", "stop_sequences"],
  ["metadata", "metadata"],
];

/** Fields that only the options for this provider have. */
const PASSED_FIELDS: readonly string[] = [
  "container",
  "context_management",
  "inference_geo",
  "mcp_servers",
  "service_tier",
  "speed",
  "top_k",
];

const HINTS: ReadonlyMap<string, string> = new Map<ErrorType, string>([
  ["request_too_large", "the limit is on the bytes of the request, 32 MB, not on its tokens"],
]);

/**
 * Returns the kind of a failure: by its code, its type, then the HTTP status. The message only distinguishes invalid
 * requests.
 */
function getKind({ code, type, message }: FailureReport, status: number | undefined): ErrorKind {
  if (isContextOverflow({ codes: [code, type], message, status })) return ErrorKind.CONTEXT_LENGTH;
  const byCode = KIND_OF_CODE.get(code);
  if (byCode !== undefined) return byCode;
  if (code === "" && (type === "invalid_request_error" || (type === "" && status === 400))) {
    if (QUOTA_TEXT.test(message)) return ErrorKind.QUOTA_EXCEEDED;
    if (FILTER_TEXT.test(message)) return ErrorKind.CONTENT_FILTER;
  }
  const byType = KIND_OF_TYPE.get(type);
  if (byType !== undefined) return byType;
  return status === undefined ? ErrorKind.PROVIDER : kindOfStatus(status);
}

type ErrorCode = ErrorDetails["error_code"];

const KIND_OF_CODE: ReadonlyMap<string, ErrorKind> = new Map<ErrorCode, ErrorKind>([
  ["contract_spend_limit_reached", ErrorKind.QUOTA_EXCEEDED],
  ["enforced_spend_limit_reached", ErrorKind.QUOTA_EXCEEDED],
  ["linked_organization_spend_limit_reached", ErrorKind.QUOTA_EXCEEDED],
  ["linked_organization_billing_unavailable", ErrorKind.QUOTA_EXCEEDED],
  ["ramp_limit_exceeded", ErrorKind.RATE_LIMIT],
  ["organization_on_hold", ErrorKind.ACCESS_DENIED],
  ["compaction_unavailable", ErrorKind.SERVER],
  ["cmek_key_unreachable", ErrorKind.SERVER],
]);

const KIND_OF_TYPE: ReadonlyMap<string, ErrorKind> = new Map<ErrorType, ErrorKind>([
  ["invalid_request_error", ErrorKind.INVALID_REQUEST],
  ["authentication_error", ErrorKind.AUTHENTICATION],
  ["billing_error", ErrorKind.QUOTA_EXCEEDED],
  ["permission_error", ErrorKind.ACCESS_DENIED],
  ["not_found_error", ErrorKind.NOT_FOUND],
  ["request_too_large", ErrorKind.CONTEXT_LENGTH],
  ["rate_limit_error", ErrorKind.RATE_LIMIT],
  ["timeout_error", ErrorKind.REQUEST_TIMEOUT],
  ["conflict_error", ErrorKind.PROVIDER],
  ["api_error", ErrorKind.SERVER],
  ["overloaded_error", ErrorKind.SERVER],
]);

/** Invalid requests of an account without money, which only their message distinguishes. */
const QUOTA_TEXT = /credit balance is too low|specified api usage limits/i;

/** "Output blocked by content filtering policy", in an answer or inside a stream. */
const FILTER_TEXT = /blocked by (?:\w+ ){0,2}content[- ]filter/i;
