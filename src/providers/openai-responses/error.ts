/** Their failure -> our InferenceError: from an HTTP answer, a Response object, or an event in a stream. */

import type { SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import { kindOfStatus } from "../../kit/adapter/classify.ts";
import { readFailureBody } from "../../kit/adapter/failure-body.ts";
import type { WireFailure } from "../../kit/adapter/http-adapter.ts";
import { createProviderError, type ReportedFailure } from "../../kit/adapter/provider-error.ts";
import type { FieldNames } from "../../kit/adapter/refused-field.ts";
import type { CallFacts } from "../../kit/call/call-facts.ts";
import { getRetryAfter, getShouldRetry } from "../../kit/http/retry-after.ts";
import { asObject, asString, textIn } from "../../kit/json/json.ts";
import type { ErrorBody, ErrorObject } from "../../wire/openai-responses/error.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { isContextOverflow } from "../context-overflow.ts";

/** The API's description of a failure (provider documentation: "Error codes"). */
interface ErrorDetails {
  readonly code: string;
  readonly type: string;
  readonly message: string;
  /** The field that is wrong; empty if the API names none. */
  readonly param: string;
}

/** Converts a failed HTTP answer to an SDKError. */
export function toError({ provider, status, headers, body, request, elementFields }: WireFailure): SDKError {
  const { object = {}, text } = readFailureBody<ErrorBody>(body);
  return createProviderError(toFailure(readDetails(object, text), status), {
    provider,
    request,
    elementFields,
    body,
    httpStatusCode: status,
    requestId: headers.get("x-request-id"),
    retryable: getShouldRetry(headers),
    retryAfter: getRetryAfter(headers),
  });
}

/** Returns the failure in an `error` event, or in a Response object or event that holds `error`. */
export function reportedError(
  holder: Untrusted<ErrorBody>,
  { provider, providerRequestId, request, withoutKeys }: CallFacts,
): SDKError {
  const source = { provider, request, body: holder, requestId: providerRequestId, withoutKeys };
  return createProviderError(toFailure(readDetails(holder), undefined), source);
}

/**
 * Reads the description, which servers put under `error` or at the top, or write as plain text.
 * @param text The body if it is not an object.
 */
function readDetails(body: Untrusted<ErrorBody>, text = ""): ErrorDetails {
  const error: Untrusted<ErrorObject> = asObject<ErrorObject>(body.error) ?? body;
  const type = textIn(error.type);
  return {
    code: readCode(error.code),
    type: type === "error" ? "" : type,
    message: asString(error.message) ?? asString(body.error) ?? asString(body.detail) ?? text,
    param: textIn(error.param),
  };
}

function readCode(code: unknown): string {
  return typeof code === "number" ? String(code) : textIn(code);
}

function toFailure(details: ErrorDetails, status: number | undefined): ReportedFailure {
  const { code, type, message, param } = details;
  return {
    code: code || type,
    message,
    field: param,
    fieldNames: FIELD_NAMES,
    getKind: (message) => getKind({ ...details, message }, status),
  };
}

const FIELD_NAMES: FieldNames = [
  ["model", "model"],
  ["input", "messages"],
  ["instructions", "messages"],
  ["max_output_tokens", "max_tokens"],
  ["reasoning.effort", "reasoning_effort"],
  ["text.format.schema", "response_format.schema_json"],
  ["text.format", "response_format"],
  ["tools", "tools"],
  ["tool_choice", "tool_choice"],
  ["parallel_tool_calls", "tool_choice.parallel"],
  ["temperature", "temperature"],
  ["top_p", "top_p"],
  ["metadata", "metadata"],
];

/**
 * Returns the kind of a failure: by the structured code first, then by the HTTP status, which some servers give as the
 * code inside a stream. The message counts only if the code is not specific.
 */
function getKind({ code, type, message }: ErrorDetails, httpStatus: number | undefined): ErrorKind {
  const status = httpStatus ?? (STATUS.test(code) ? Number(code) : undefined);
  if (isContextOverflow({ codes: [code, type], message, status })) return ErrorKind.CONTEXT_LENGTH;
  const known = KIND_OF_CODE.get(code) ?? KIND_OF_CODE.get(type);
  if (known !== undefined) return known;
  if (status !== undefined) return kindOfStatus(status);
  return KIND_OF_GENERAL_CODE.get(code) ?? KIND_OF_GENERAL_CODE.get(type) ?? ErrorKind.PROVIDER;
}

const STATUS = /^[45]\d\d$/;

const KIND_OF_CODE = kindsByCode([
  [ErrorKind.AUTHENTICATION, ["invalid_api_key"]],
  [ErrorKind.NOT_FOUND, ["model_not_found"]],
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
      "cyber_policy",
      "cyber_policy_violation",
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

// Less specific than a status; these codes decide only inside a stream, which has no status.
const KIND_OF_GENERAL_CODE = kindsByCode([
  [
    ErrorKind.INVALID_REQUEST,
    ["invalid_request_error", "invalid_value", "unsupported_parameter", "unsupported_value"],
  ],
  [ErrorKind.AUTHENTICATION, ["authentication_error"]],
  [ErrorKind.RATE_LIMIT, ["slow_down", "rate_limit_error", "too_many_requests", "tokens", "requests"]],
]);

function kindsByCode(
  kinds: readonly (readonly [kind: ErrorKind, codes: readonly string[]])[],
): ReadonlyMap<string, ErrorKind> {
  return new Map(kinds.flatMap(([kind, codes]) => codes.map((code) => [code, kind] as const)));
}
