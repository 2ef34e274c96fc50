/** Their failure -> our InferenceError: of an HTTP answer, of a Response object, of an event in a stream. */

import type { ProviderErrorOptions, SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import { boundedRaw, kindOfStatus, repeatableMessage } from "../../kit/adapter/classify.ts";
import type { WireFailure } from "../../kit/adapter/http-adapter.ts";
import { providerErrorOf } from "../../kit/adapter/provider-error.ts";
import { retryAfterOf, retryDelayInText, shouldRetryOf } from "../../kit/http/retry-after.ts";
import { asObject, asString, textIn, tryParseJson } from "../../kit/json/json.ts";
import type { ErrorBody, ErrorObject } from "../../wire/openai-responses/error.ts";
import type { ResponseObject } from "../../wire/openai-responses/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** The API's own description of a failure (provider documentation: "Error codes"). */
interface ErrorDetails {
  readonly code: string;
  readonly type: string;
  /** As far as it may be repeated: without the caller's prompt, which could mislead the reader. */
  readonly message: string;
}

/** A failed HTTP answer as our error. */
export function toError({ provider, status, headers, body, request }: WireFailure): SDKError {
  return errorFor(detailsIn(asObject<ErrorBody>(tryParseJson(body)), request), {
    provider,
    httpStatusCode: status,
    requestId: headers.get("x-request-id"),
    retryable: shouldRetryOf(headers),
    retryAfter: retryAfterOf(headers),
    rawJson: request.includeRaw ? boundedRaw(body) : undefined,
  });
}

/** Whether a Response object, or a body sent instead of one, reports a failure: `status: failed`, or `error`. */
export function isFailure({ status, error }: Untrusted<ResponseObject>): boolean {
  return status === "failed" || (error !== undefined && error !== null);
}

/** The failure in an `error` event, or in a Response object or event that holds `error`. */
export function reportedError(
  holder: Untrusted<ErrorBody>,
  { provider, providerRequestId, request }: CallFacts,
): SDKError {
  return errorFor(detailsIn(holder, request), {
    provider,
    requestId: providerRequestId,
    rawJson: request.includeRaw ? boundedRaw(JSON.stringify(holder)) : undefined,
  });
}

/** Servers put the description under `error` or at the top, or write it as plain text. */
function detailsIn(body: Untrusted<ErrorBody> | undefined, request: Request): ErrorDetails {
  const error: Untrusted<ErrorObject> = asObject<ErrorObject>(body?.error) ?? body ?? {};
  const message = asString(error.message) ?? asString(body?.error) ?? asString(body?.detail) ?? "";
  const type = textIn(error.type);
  return {
    code: codeIn(error.code),
    type: type === "error" ? "" : type,
    message: repeatableMessage(message, request),
  };
}

function codeIn(code: unknown): string {
  return typeof code === "number" ? String(code) : textIn(code);
}

function errorFor(details: ErrorDetails, options: ProviderErrorOptions): SDKError {
  const { code, type, message } = details;
  const kind = kindOf(details, options.httpStatusCode);
  const retryAfter = WITH_RETRY_DELAY.has(kind) ? retryDelayInText(message) : undefined;
  return providerErrorOf({ kind, code: code || type, message, retryAfter }, options);
}

/** Kinds whose message may contain a delay for the next attempt. */
const WITH_RETRY_DELAY: ReadonlySet<ErrorKind> = new Set([ErrorKind.RATE_LIMIT, ErrorKind.SERVER]);

/**
 * The kind of a failure: the structured code first, then the HTTP status, which inside a stream some
 * servers give as the code. The message counts only where the code is not specific.
 */
function kindOf({ code, type, message }: ErrorDetails, httpStatus: number | undefined): ErrorKind {
  const known = KIND_OF_CODE.get(code) ?? KIND_OF_CODE.get(type);
  if (known !== undefined) return known;
  const isStatus = STATUS.test(code);
  const status = httpStatus ?? (isStatus ? Number(code) : undefined);
  const isUnspecific = code === "" || code === type || isStatus;
  if (isUnspecific && (status === undefined || status === 400) && CONTEXT_MESSAGE.test(message))
    return ErrorKind.CONTEXT_LENGTH;
  if (status !== undefined) return kindOfStatus(status);
  return KIND_OF_GENERAL_CODE.get(code) ?? KIND_OF_GENERAL_CODE.get(type) ?? ErrorKind.PROVIDER;
}

const STATUS = /^[45]\d\d$/;

const CONTEXT_MESSAGE = /exceeds the context window|maximum context length/i;

const KIND_OF_CODE = kindsByCode([
  [ErrorKind.AUTHENTICATION, ["invalid_api_key"]],
  [ErrorKind.NOT_FOUND, ["model_not_found"]],
  [ErrorKind.CONTEXT_LENGTH, ["context_length_exceeded", "exceed_context_size_error"]],
  [ErrorKind.RATE_LIMIT, ["rate_limit_exceeded"]],
  [ErrorKind.SERVER, ["server_error", "server_is_overloaded", "vector_store_timeout"]],
  [
    ErrorKind.QUOTA_EXCEEDED,
    [
      "insufficient_quota",
      "credit_balance_exhausted",
      "organization_spend_limit_exceeded",
      "project_spend_limit_exceeded",
      "organization_usage_limit_exceeded",
    ],
  ],
  [
    ErrorKind.CONTENT_FILTER,
    [
      "content_filter",
      "content_policy_violation",
      "invalid_prompt",
      "bio_policy",
      "misalignment_policy_violation",
      "image_content_policy_violation",
    ],
  ],
  [
    ErrorKind.INVALID_REQUEST,
    [
      "data_residency_mismatch",
      "invalid_image",
      "invalid_image_format",
      "invalid_base64_image",
      "invalid_image_url",
      "invalid_image_mode",
      "image_too_large",
      "image_too_small",
      "image_parse_error",
      "image_file_too_large",
      "image_file_not_found",
      "unsupported_image_media_type",
      "empty_image_file",
      "failed_to_download_image",
    ],
  ],
]);

// Less specific than a status; they decide only inside a stream, where there is none.
const KIND_OF_GENERAL_CODE = kindsByCode([
  [
    ErrorKind.INVALID_REQUEST,
    ["invalid_request_error", "invalid_value", "unsupported_parameter", "unsupported_value"],
  ],
  [ErrorKind.AUTHENTICATION, ["authentication_error"]],
  [ErrorKind.RATE_LIMIT, ["slow_down", "rate_limit_error", "tokens", "requests"]],
]);

function kindsByCode(
  kinds: readonly (readonly [kind: ErrorKind, codes: readonly string[]])[],
): ReadonlyMap<string, ErrorKind> {
  return new Map(kinds.flatMap(([kind, codes]) => codes.map((code) => [code, kind] as const)));
}
