/** A failure of theirs -> our InferenceError: from an HTTP answer, a body with status 200, or a chunk in a stream. */

import type { SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import { kindOfStatus } from "../../kit/adapter/classify.ts";
import { readFailureBody } from "../../kit/adapter/failure-body.ts";
import type { WireFailure } from "../../kit/adapter/http-adapter.ts";
import { createProviderError, type ReportedFailure } from "../../kit/adapter/provider-error.ts";
import type { FieldNames } from "../../kit/adapter/refused-field.ts";
import type { CallFacts } from "../../kit/call/call-facts.ts";
import { getRetryAfter, getShouldRetry } from "../../kit/http/retry-after.ts";
import type { HttpHeaders } from "../../kit/http/transport.ts";
import { asObject } from "../../kit/json/json.ts";
import type { ErrorBody } from "../../wire/openai-chat/error.ts";
import type { AnyChoice, AnyCompletion } from "../../wire/openai-chat/stream.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { isContextOverflow } from "../context-overflow.ts";
import { getFailedStatus, type ProviderErrorBody, plainError, readErrorBody } from "./error-body.ts";
import type { ServerProfile } from "./profile.ts";

/** Converts a failed HTTP answer to an SDKError. */
export function toError(failure: WireFailure, profile: ServerProfile): SDKError {
  const { provider, status, headers, body, request } = failure;
  const { object, text } = readFailureBody<ErrorBody>(body);
  const reported = object === undefined ? plainError(text) : readErrorBody(object);
  const isOverflow = status === 400 && body.trim() === "" && profile.emptyErrorIsOverflow;
  return createProviderError(toFailure(reported, status, isOverflow), {
    provider,
    request,
    body,
    httpStatusCode: status,
    requestId: getRequestId(headers),
    retryable: getShouldRetry(headers),
    retryAfter: getRetryAfter(headers),
  });
}

/** Reports whether a body or chunk is a failure instead of an answer. */
export function reportsFailure(body: Untrusted<AnyCompletion | (ErrorBody & { type: string })>): boolean {
  if (isError(body.error, Array.isArray(body.choices))) return true;
  if (body.object === "error" || body.type === "error") return true;
  // Groq puts here why it stopped a stream early.
  if (asObject<ErrorBody["x_groq"]>(body.x_groq)?.error !== undefined) return true;
  if (getFailedStatus(body) !== undefined) return true;
  // Servers that write all fields have null instead of the choices.
  const isAnswer = (body.choices ?? undefined) !== undefined;
  return !isAnswer && [body.message, body.detail, body.error_code].some(isGiven);
}

/**
 * Reports whether the `error` of a body or chunk is one. Servers that write all fields send one without content with
 * each answer.
 * @param isAnswer Whether there is an answer alongside it.
 */
export function isError(error: unknown, isAnswer: boolean): boolean {
  if (error === undefined || error === null || error === "") return false;
  const fields = asObject(error);
  return !isAnswer || fields === undefined || !Object.values(fields).every((value) => EMPTY.has(value));
}

const EMPTY: ReadonlySet<unknown> = new Set([null, "", 0]);

function isGiven(value: unknown): boolean {
  return value !== undefined && !EMPTY.has(value);
}

/** Returns the failure that a body with status 200, a chunk or a choice reports. */
export function reportedError(
  holder: Untrusted<AnyCompletion | AnyChoice | ErrorBody>,
  { provider, providerRequestId, request, withoutKeys }: CallFacts,
): SDKError {
  const source = { provider, request, body: holder, requestId: providerRequestId, withoutKeys };
  return createProviderError(toFailure(readErrorBody(holder), undefined), source);
}

/** Returns the provider's id of the exchange, from any of the headers that servers use; empty if there is none. */
export function getRequestId(headers: HttpHeaders): string {
  for (const name of REQUEST_ID_HEADERS) {
    const id = headers.get(name);
    if (id !== undefined && id !== "") return id;
  }
  return "";
}

const REQUEST_ID_HEADERS = [
  "x-request-id",
  "request-id",
  "apim-request-id",
  "mistral-correlation-id",
  "x-generation-id",
  "cf-ray",
];

function toFailure(
  reported: ProviderErrorBody,
  status: number | undefined,
  isOverflow = false,
): ReportedFailure {
  const { code, codeNumber, type, message, param } = reported;
  return {
    code: code || type || codeNumber,
    message,
    field: param,
    fieldNames: FIELD_NAMES,
    getKind: (message) => (isOverflow ? ErrorKind.CONTEXT_LENGTH : getKind({ ...reported, message }, status)),
  };
}

const FIELD_NAMES: FieldNames = [
  ["model", "model"],
  ["messages", "messages"],
  ["max_tokens", "max_tokens"],
  ["max_completion_tokens", "max_tokens"],
  ["reasoning_effort", "reasoning_effort"],
  ["response_format.json_schema", "response_format.schema_json"],
  ["response_format", "response_format"],
  ["tools", "tools"],
  ["tool_choice", "tool_choice"],
  ["parallel_tool_calls", "tool_choice.parallel"],
  ["temperature", "temperature"],
  ["top_p", "top_p"],
  ["stop", "stop_sequences"],
  ["metadata", "metadata"],
];

/**
 * Returns the kind of a failure: by the structured code first, then by the status (inside a stream, the number that the
 * body has for it); by the message only if these are too general.
 */
function getKind(reported: ProviderErrorBody, httpStatus: number | undefined): ErrorKind {
  const code = reported.code.toLowerCase();
  const type = reported.type.toLowerCase();
  const status = httpStatus ?? reported.status;
  if (isContextOverflow({ codes: [code, type], message: reported.message, status }))
    return ErrorKind.CONTEXT_LENGTH;
  const known = KIND_OF_CODE.get(code) ?? KIND_OF_CODE.get(type);
  if (known !== undefined) return known;
  if (reported.isModerated) return ErrorKind.CONTENT_FILTER;
  const byNumber = type === "" && code === "" ? KIND_OF_NUMBER.get(reported.codeNumber) : undefined;
  if (byNumber !== undefined) return byNumber;
  const byMessage = code === "" ? getMessageKind(reported.message, status) : undefined;
  if (byMessage !== undefined) return byMessage;
  if (status !== undefined) return kindOfStatus(status);
  return KIND_OF_TYPE.get(type) ?? ErrorKind.PROVIDER;
}

/** Returns the kind that a message names, if the status is too general (400, 403, 429) or there is none. */
function getMessageKind(message: string, status: number | undefined): ErrorKind | undefined {
  if (QUOTA_TEXT.test(message) && isStatusIn(status, 400, 403, 429)) return ErrorKind.QUOTA_EXCEEDED;
  if (KEY_TEXT.test(message) && isStatusIn(status, 400)) return ErrorKind.AUTHENTICATION;
  if (RATE_TEXT.test(message)) return status === undefined ? ErrorKind.RATE_LIMIT : undefined;
  return undefined;
}

/** Reports whether a status is in a list, or there is none. */
function isStatusIn(status: number | undefined, ...some: readonly number[]): boolean {
  return status === undefined || some.includes(status);
}

const RATE_TEXT = /rate.?limit|too many requests|throttl/i;

const KEY_TEXT = /(?:incorrect|invalid) api key|api key not valid/i;

const QUOTA_TEXT =
  /insufficient (?:balance|credit|quota|funds)|exceeded your current quota|credit balance|(?:have any|enough) credits|please recharge/i;

/** Codes and types that name a kind, whatever the status. Lower case. */
const KIND_OF_CODE: ReadonlyMap<string, ErrorKind> = new Map([
  ["content_filter", ErrorKind.CONTENT_FILTER],
  ["content_policy_violation", ErrorKind.CONTENT_FILTER],
  ["data_inspection_failed", ErrorKind.CONTENT_FILTER],
  ["datainspectionfailed", ErrorKind.CONTENT_FILTER],
  ["invalid_prompt", ErrorKind.CONTENT_FILTER],
  ["invalid_api_key", ErrorKind.AUTHENTICATION],
  ["model_not_found", ErrorKind.NOT_FOUND],
  ["invalid_model", ErrorKind.NOT_FOUND],
  ["deploymentnotfound", ErrorKind.NOT_FOUND],
  ["insufficient_quota", ErrorKind.QUOTA_EXCEEDED],
  ["insufficient_balance", ErrorKind.QUOTA_EXCEEDED],
  ["exceeded_current_quota_error", ErrorKind.QUOTA_EXCEEDED],
  ["billing_hard_limit_reached", ErrorKind.QUOTA_EXCEEDED],
  ["credit_balance_exhausted", ErrorKind.QUOTA_EXCEEDED],
  ["organization_spend_limit_exceeded", ErrorKind.QUOTA_EXCEEDED],
  ["project_spend_limit_exceeded", ErrorKind.QUOTA_EXCEEDED],
  ["organization_usage_limit_exceeded", ErrorKind.QUOTA_EXCEEDED],
  ["arrearage", ErrorKind.QUOTA_EXCEEDED],
  ["rate_limit_exceeded", ErrorKind.RATE_LIMIT],
  ["rate_limited", ErrorKind.RATE_LIMIT],
  ["rate_limit_reached_error", ErrorKind.RATE_LIMIT],
  ["token_quota_exceeded", ErrorKind.RATE_LIMIT],
  ["request_quota_exceeded", ErrorKind.RATE_LIMIT],
  ["throttling", ErrorKind.RATE_LIMIT],
  ["throttling.ratequota", ErrorKind.RATE_LIMIT],
  ["throttling.burstrate", ErrorKind.RATE_LIMIT],
  ["throttling.allocationquota", ErrorKind.RATE_LIMIT],
  ["limit_requests", ErrorKind.RATE_LIMIT],
  ["limit_burst_rate", ErrorKind.RATE_LIMIT],
  ["engine_overloaded_error", ErrorKind.SERVER],
  ["overloaded_error", ErrorKind.SERVER],
  ["server_error", ErrorKind.SERVER],
  ["server_is_overloaded", ErrorKind.SERVER],
  // Databricks ("Foundation Model APIs").
  ["request_limit_exceeded", ErrorKind.RATE_LIMIT],
  // The model's output is not a call of the request's tools (Groq); it is in the body.
  ["tool_use_failed", ErrorKind.INVALID_TOOL_CALL],
  // The server could not parse the model's output; another attempt may succeed (Groq).
  ["json_validate_failed", ErrorKind.SERVER],
]);

/** Z.ai's codes (documentation: "Error codes"), whose statuses are less precise. No other server has a number alone. */
const KIND_OF_NUMBER: ReadonlyMap<string, ErrorKind> = new Map([
  ["1000", ErrorKind.AUTHENTICATION],
  ["1001", ErrorKind.AUTHENTICATION],
  ["1002", ErrorKind.AUTHENTICATION],
  ["1003", ErrorKind.AUTHENTICATION],
  ["1004", ErrorKind.AUTHENTICATION],
  ["1110", ErrorKind.ACCESS_DENIED],
  ["1111", ErrorKind.ACCESS_DENIED],
  ["1112", ErrorKind.ACCESS_DENIED],
  ["1113", ErrorKind.QUOTA_EXCEEDED],
  ["1121", ErrorKind.ACCESS_DENIED],
  ["1210", ErrorKind.INVALID_REQUEST],
  ["1211", ErrorKind.NOT_FOUND],
  ["1212", ErrorKind.INVALID_REQUEST],
  ["1213", ErrorKind.INVALID_REQUEST],
  ["1214", ErrorKind.INVALID_REQUEST],
  ["1215", ErrorKind.INVALID_REQUEST],
  ["1220", ErrorKind.ACCESS_DENIED],
  ["1221", ErrorKind.NOT_FOUND],
  ["1222", ErrorKind.NOT_FOUND],
  ["1234", ErrorKind.SERVER],
  ["1261", ErrorKind.CONTEXT_LENGTH],
  ["1301", ErrorKind.CONTENT_FILTER],
  ["1302", ErrorKind.RATE_LIMIT],
  ["1303", ErrorKind.RATE_LIMIT],
  ["1304", ErrorKind.RATE_LIMIT],
  ["1305", ErrorKind.RATE_LIMIT],
  ["1308", ErrorKind.RATE_LIMIT],
  ["1309", ErrorKind.QUOTA_EXCEEDED],
  ["1310", ErrorKind.RATE_LIMIT],
  ["1311", ErrorKind.ACCESS_DENIED],
  ["1312", ErrorKind.RATE_LIMIT],
  ["1313", ErrorKind.RATE_LIMIT],
]);

// Types are less precise than statuses; they decide only inside a stream, which has no status. Lower case.
const KIND_OF_TYPE: ReadonlyMap<string, ErrorKind> = new Map([
  ["invalid_request_error", ErrorKind.INVALID_REQUEST],
  ["badrequesterror", ErrorKind.INVALID_REQUEST],
  ["authentication_error", ErrorKind.AUTHENTICATION],
  ["permission_error", ErrorKind.ACCESS_DENIED],
  ["not_found_error", ErrorKind.NOT_FOUND],
  ["notfounderror", ErrorKind.NOT_FOUND],
  ["validation", ErrorKind.INVALID_REQUEST],
  ["overloaded", ErrorKind.SERVER],
  ["generation", ErrorKind.SERVER],
  ["incomplete_generation", ErrorKind.SERVER],
  ["rate_limit_error", ErrorKind.RATE_LIMIT],
  ["tokens", ErrorKind.RATE_LIMIT],
  ["requests", ErrorKind.RATE_LIMIT],
  ["api_error", ErrorKind.SERVER],
  ["internal_server_error", ErrorKind.SERVER],
  ["internalservererror", ErrorKind.SERVER],
]);
