/** Their failure -> our InferenceError: of an HTTP answer, of a body with success, of a chunk in a stream. */

import { errorOf, type ProviderErrorOptions, type SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import { boundedRaw, kindOfStatus, repeatableMessage } from "../../kit/adapter/classify.ts";
import type { WireFailure } from "../../kit/adapter/http-adapter.ts";
import { retryAfterOf, retryDelayInText, shouldRetryOf } from "../../kit/http/retry-after.ts";
import type { HttpHeaders } from "../../kit/http/transport.ts";
import { asObject, type JsonObject, tryParseJson } from "../../kit/json/json.ts";
import { type Complaint, complaintIn, complaintInText } from "./complaint.ts";
import type { ServerProfile } from "./profile.ts";

/** A failed HTTP answer as our error. */
export function toError(failure: WireFailure, profile: ServerProfile): SDKError {
  const { provider, status, headers, body, request } = failure;
  const parsed = asObject(tryParseJson(body));
  const complaint = parsed === undefined ? complaintInText(body) : complaintIn(parsed);
  const isOverflow = status === 400 && body.trim() === "" && profile.emptyErrorIsOverflow;
  return failed(complaint, request, isOverflow ? ErrorKind.CONTEXT_LENGTH : undefined, {
    provider,
    httpStatusCode: status,
    requestId: requestIdOf(headers),
    retryable: shouldRetryOf(headers),
    retryAfter: retryAfterOf(headers),
    rawJson: request.includeRaw ? boundedRaw(body) : undefined,
  });
}

/** Whether a body or chunk tells of a failure instead of an answer. */
export function reportsFailure(body: JsonObject): boolean {
  if (body.error !== undefined && body.error !== null) return true;
  if (body.object === "error" || body.type === "error") return true;
  // Groq says here why it stopped a stream early.
  if (asObject(body.x_groq)?.error !== undefined) return true;
  return body.choices === undefined && (typeof body.message === "string" || body.detail !== undefined);
}

/** The failure that a body, chunk or choice with success reports. */
export function reportedError(
  holder: JsonObject,
  { provider, providerRequestId, request }: CallFacts,
): SDKError {
  return failed(complaintIn(holder), request, undefined, {
    provider,
    requestId: providerRequestId,
    rawJson: request.includeRaw ? boundedRaw(JSON.stringify(holder)) : undefined,
  });
}

/** The provider's id of the exchange, wherever a server puts it; empty where it does not. */
export function requestIdOf(headers: HttpHeaders): string {
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

function failed(
  complaint: Complaint,
  request: Request,
  known: ErrorKind | undefined,
  options: ProviderErrorOptions,
): SDKError {
  const word = complaint.code || complaint.type;
  const said = repeatableMessage(complaint.message, request);
  const status =
    options.httpStatusCode === undefined ? "reported a failure" : `answered ${options.httpStatusCode}`;
  const text = `${options.provider} ${status}${word === "" ? "" : ` (${word})`}${said === "" ? "" : `: ${said}`}`;
  // What may not be repeated is not read either: it is the caller's own text.
  const kind = known ?? kindOf({ ...complaint, message: said }, options.httpStatusCode);
  const isQuota = kind === ErrorKind.QUOTA_EXCEEDED;
  const delay = options.retryAfter ?? retryDelayInText(complaint.message);
  return errorOf(kind, text, {
    ...options,
    // Waiting does not bring money back.
    retryAfter: isQuota ? undefined : delay,
    retryable: isQuota ? false : options.retryable,
    errorCode: word === "" ? undefined : word,
  });
}

/**
 * The kind of a failure: the structured code first, then the status (inside a stream the number
 * that stands for it), the message only where they say no more than that something is wrong.
 */
function kindOf(complaint: Complaint, httpStatus: number | undefined): ErrorKind {
  const code = complaint.code.toLowerCase();
  const type = complaint.type.toLowerCase();
  const known = KIND_OF_WORD.get(code) ?? KIND_OF_WORD.get(type);
  if (known !== undefined) return known;
  if (complaint.isModerated) return ErrorKind.CONTENT_FILTER;
  const status = httpStatus ?? complaint.status;
  const byMessage = code === "" ? kindOfMessage(complaint.message, status) : undefined;
  if (byMessage !== undefined) return byMessage;
  if (status !== undefined) return kindOfStatus(status);
  return KIND_OF_TYPE.get(type) ?? ErrorKind.PROVIDER;
}

/** What a message tells apart where the status alone says little: a 400, 403, 413, 422, 429 or 5xx, or none at all. */
function kindOfMessage(message: string, status: number | undefined): ErrorKind | undefined {
  if (QUOTA_TEXT.test(message) && isIn(status, 400, 403, 429)) return ErrorKind.QUOTA_EXCEEDED;
  if (KEY_TEXT.test(message) && isIn(status, 400)) return ErrorKind.AUTHENTICATION;
  if (RATE_TEXT.test(message)) return status === undefined ? ErrorKind.RATE_LIMIT : undefined;
  if (OVERFLOW_TEXT.test(message) && isIn(status, 400, 413, 422, 500)) return ErrorKind.CONTEXT_LENGTH;
  return undefined;
}

/** Whether a status is one of some, or there is none. */
function isIn(status: number | undefined, ...some: readonly number[]): boolean {
  return status === undefined || some.includes(status);
}

const OVERFLOW_TEXT = new RegExp(
  [
    "prompt is too long",
    "input is too long",
    "exceeds the context window",
    "input token count .* exceeds the maximum",
    "maximum prompt length is \\d+",
    "reduce the length of the messages",
    "maximum context length",
    "exceeds the available context size",
    "greater than the context length",
    "context window exceeds limit",
    "exceeded model token limit",
    "prompt too long; exceeded",
    "context[_ ]length[_ ]exceeded",
    "too many tokens",
    "token limit exceeded",
  ].join("|"),
  "i",
);

const RATE_TEXT = /rate.?limit|too many requests|throttl/i;

const KEY_TEXT = /(?:incorrect|invalid) api key|api key not valid/i;

const QUOTA_TEXT =
  /insufficient (?:balance|credit|quota|funds)|exceeded your current quota|credit balance|(?:have any|enough) credits|please recharge/i;

/** Codes and types that say what is wrong, whatever the status. Lower case. */
const KIND_OF_WORD: ReadonlyMap<string, ErrorKind> = new Map([
  ["context_length_exceeded", ErrorKind.CONTEXT_LENGTH],
  ["context_window_exceeded", ErrorKind.CONTEXT_LENGTH],
  ["exceed_context_size_error", ErrorKind.CONTEXT_LENGTH],
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
  ["engine_overloaded_error", ErrorKind.SERVER],
  ["overloaded_error", ErrorKind.SERVER],
  ["server_error", ErrorKind.SERVER],
  ["server_is_overloaded", ErrorKind.SERVER],
  // What the model wrote did not parse at the server; asked again it may do better (Groq).
  ["tool_use_failed", ErrorKind.SERVER],
  ["json_validate_failed", ErrorKind.SERVER],
]);

// Types say less than statuses; they decide only inside a stream, where there is none. Lower case.
const KIND_OF_TYPE: ReadonlyMap<string, ErrorKind> = new Map([
  ["invalid_request_error", ErrorKind.INVALID_REQUEST],
  ["badrequesterror", ErrorKind.INVALID_REQUEST],
  ["authentication_error", ErrorKind.AUTHENTICATION],
  ["permission_error", ErrorKind.ACCESS_DENIED],
  ["not_found_error", ErrorKind.NOT_FOUND],
  ["notfounderror", ErrorKind.NOT_FOUND],
  ["rate_limit_error", ErrorKind.RATE_LIMIT],
  ["tokens", ErrorKind.RATE_LIMIT],
  ["requests", ErrorKind.RATE_LIMIT],
  ["api_error", ErrorKind.SERVER],
  ["internal_server_error", ErrorKind.SERVER],
  ["internalservererror", ErrorKind.SERVER],
]);
