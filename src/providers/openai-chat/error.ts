/** A failure of theirs -> our InferenceError: of an HTTP answer, of a body with status 200, of a chunk in a stream. */

import type { ProviderErrorOptions, SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import { boundedRaw, kindOfStatus, repeatableMessage } from "../../kit/adapter/classify.ts";
import type { WireFailure } from "../../kit/adapter/http-adapter.ts";
import { providerErrorOf } from "../../kit/adapter/provider-error.ts";
import { retryAfterOf, retryDelayInText, shouldRetryOf } from "../../kit/http/retry-after.ts";
import type { HttpHeaders } from "../../kit/http/transport.ts";
import { asObject, tryParseJson } from "../../kit/json/json.ts";
import type { ErrorBody } from "../../wire/openai-chat/error.ts";
import type { AnyChoice, AnyCompletion } from "../../wire/openai-chat/stream.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { type ProviderErrorBody, readErrorBody, readErrorText } from "./error-body.ts";
import type { ServerProfile } from "./profile.ts";

/** A failed HTTP answer as our error. */
export function toError(failure: WireFailure, profile: ServerProfile): SDKError {
  const { provider, status, headers, body, request } = failure;
  const parsed = asObject<ErrorBody>(tryParseJson(body));
  const reported = parsed === undefined ? readErrorText(body) : readErrorBody(parsed);
  const isOverflow = status === 400 && body.trim() === "" && profile.emptyErrorIsOverflow;
  return errorOfBody(reported, request, isOverflow ? ErrorKind.CONTEXT_LENGTH : undefined, {
    provider,
    httpStatusCode: status,
    requestId: requestIdOf(headers),
    retryable: shouldRetryOf(headers),
    retryAfter: retryAfterOf(headers),
    rawJson: request.includeRaw ? boundedRaw(body) : undefined,
  });
}

/** Whether a body or chunk reports a failure instead of an answer. */
export function reportsFailure(body: Untrusted<AnyCompletion | (ErrorBody & { type: string })>): boolean {
  if (body.error !== undefined && body.error !== null) return true;
  if (body.object === "error" || body.type === "error") return true;
  // Groq puts here why it stopped a stream early.
  if (asObject<ErrorBody["x_groq"]>(body.x_groq)?.error !== undefined) return true;
  return body.choices === undefined && (typeof body.message === "string" || body.detail !== undefined);
}

/** The failure that a body with status 200, a chunk or a choice reports. */
export function reportedError(
  holder: Untrusted<AnyCompletion | AnyChoice | ErrorBody>,
  { provider, providerRequestId, request }: CallFacts,
): SDKError {
  return errorOfBody(readErrorBody(holder), request, undefined, {
    provider,
    requestId: providerRequestId,
    rawJson: request.includeRaw ? boundedRaw(JSON.stringify(holder)) : undefined,
  });
}

/** The provider's id of the exchange, from whichever header a server puts it in; empty where there is none. */
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

function errorOfBody(
  reported: ProviderErrorBody,
  request: Request,
  known: ErrorKind | undefined,
  options: ProviderErrorOptions,
): SDKError {
  const message = repeatableMessage(reported.message, request);
  // A message that may not be repeated is not classified either: it holds the caller's own text.
  const kind = known ?? kindOf({ ...reported, message }, options.httpStatusCode);
  const retryAfter = retryDelayInText(reported.message);
  return providerErrorOf({ kind, code: reported.code || reported.type, message, retryAfter }, options);
}

/**
 * The kind of a failure: by the structured code first, then by the status (inside a stream, the number that the body
 * has for it); by the message only where they are too general.
 */
function kindOf(reported: ProviderErrorBody, httpStatus: number | undefined): ErrorKind {
  const code = reported.code.toLowerCase();
  const type = reported.type.toLowerCase();
  const known = KIND_OF_CODE.get(code) ?? KIND_OF_CODE.get(type);
  if (known !== undefined) return known;
  if (reported.isModerated) return ErrorKind.CONTENT_FILTER;
  const status = httpStatus ?? reported.status;
  const byMessage = code === "" ? kindOfMessage(reported.message, status) : undefined;
  if (byMessage !== undefined) return byMessage;
  if (status !== undefined) return kindOfStatus(status);
  return KIND_OF_TYPE.get(type) ?? ErrorKind.PROVIDER;
}

/** The kind that a message names, where the status is too general (400, 403, 413, 422, 429, 5xx) or there is none. */
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

/** Codes and types that name a kind, whatever the status. Lower case. */
const KIND_OF_CODE: ReadonlyMap<string, ErrorKind> = new Map([
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
  // The server could not parse what the model wrote; another attempt may succeed (Groq).
  ["tool_use_failed", ErrorKind.SERVER],
  ["json_validate_failed", ErrorKind.SERVER],
]);

// Types are less precise than statuses; they decide only inside a stream, where there is no status. Lower case.
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
