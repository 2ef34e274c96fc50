/** Their failure -> our InferenceError: of an HTTP answer, of a Response object, of an event in a stream. */
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { CallFacts } from "../../kit/call-facts.ts";
import { boundedRaw, kindOfStatus, repeatableMessage } from "../../kit/classify.ts";
import type { WireFailure } from "../../kit/http-adapter.ts";
import { asObject, asString, type JsonObject, tryParseJson } from "../../kit/json.ts";
import { retryAfterOf, retryDelayInText, shouldRetryOf } from "../../kit/retry-after.ts";
import { errorOf, type ProviderErrorOptions, type SDKError } from "../../spec/errors.ts";
import { type ResponseObject, textIn } from "./wire.ts";

/** What the API says of a failure (provider documentation: "Error codes"). */
interface Complaint {
  readonly code: string;
  readonly type: string;
  readonly message: string;
}

/** A failed HTTP answer as our error. */
export function toError({ provider, status, headers, body, request }: WireFailure): SDKError {
  const complaint = complaintIn(asObject(tryParseJson(body)));
  return failed(kindOf(complaint, status), complaint, request, {
    provider,
    statusCode: status,
    requestId: headers.get("x-request-id"),
    retryable: shouldRetryOf(headers),
    retryAfter: retryAfterOf(headers),
    rawJson: request.includeRaw ? boundedRaw(body) : undefined,
  });
}

/** The failure that a Response object reports (`status: failed`, `error`); undefined where it reports none. */
export function failureOf(object: ResponseObject, facts: CallFacts): SDKError | undefined {
  const error = asObject(object.error);
  if (object.status !== "failed" && error === undefined) return undefined;
  return reportedError(object, facts);
}

/** The failure in an `error` event, or in a Response object or event that holds `error`. */
export function reportedError(
  holder: JsonObject,
  { provider, providerRequestId, request }: CallFacts,
): SDKError {
  const complaint = complaintIn(holder);
  return failed(kindOf(complaint, undefined), complaint, request, {
    provider,
    requestId: providerRequestId,
    rawJson: request.includeRaw ? boundedRaw(JSON.stringify(holder)) : undefined,
  });
}

/** Servers put their complaint under `error`, or at the top, or say it as plain text. */
function complaintIn(body: JsonObject | undefined): Complaint {
  const error = asObject(body?.error) ?? body ?? {};
  const message = asString(error.message) ?? asString(body?.error) ?? asString(body?.detail) ?? "";
  const type = textIn(error.type);
  return { code: codeIn(error.code), type: type === "error" ? "" : type, message };
}

function codeIn(code: unknown): string {
  return typeof code === "number" ? String(code) : textIn(code);
}

function failed(
  kind: ErrorKind,
  complaint: Complaint,
  request: Request,
  options: ProviderErrorOptions,
): SDKError {
  const word = complaint.code || complaint.type;
  const said = repeatableMessage(complaint.message, request);
  const status = options.statusCode === undefined ? "reported a failure" : `answered ${options.statusCode}`;
  const text = `${options.provider} ${status}${word === "" ? "" : ` (${word})`}${said === "" ? "" : `: ${said}`}`;
  const delay = options.retryAfter ?? retryDelayInText(complaint.message);
  // Waiting does not bring money back.
  const retryAfter = kind === ErrorKind.QUOTA_EXCEEDED ? undefined : delay;
  const retryable = kind === ErrorKind.QUOTA_EXCEEDED ? false : options.retryable;
  return errorOf(kind, text, {
    ...options,
    retryAfter,
    retryable,
    errorCode: word === "" ? undefined : word,
  });
}

/** The kind of a failure: the structured code first, then the HTTP status, the message only to tell a 400 apart. */
function kindOf({ code, type, message }: Complaint, status: number | undefined): ErrorKind {
  const known = KIND_OF_CODE.get(code) ?? KIND_OF_CODE.get(type);
  if (known !== undefined) return known;
  if (code.includes("image")) return ErrorKind.INVALID_REQUEST;
  if ((status === 400 || status === undefined) && CONTEXT_MESSAGE.test(message))
    return ErrorKind.CONTEXT_LENGTH;
  if (status !== undefined) return kindOfStatus(status);
  return KIND_OF_TYPE.get(type) ?? ErrorKind.PROVIDER;
}

const CONTEXT_MESSAGE = /exceeds the context window|maximum context length/i;

const KIND_OF_CODE: ReadonlyMap<string, ErrorKind> = new Map([
  ["context_length_exceeded", ErrorKind.CONTEXT_LENGTH],
  ["content_filter", ErrorKind.CONTENT_FILTER],
  ["content_policy_violation", ErrorKind.CONTENT_FILTER],
  ["invalid_prompt", ErrorKind.CONTENT_FILTER],
  ["bio_policy", ErrorKind.CONTENT_FILTER],
  ["misalignment_policy_violation", ErrorKind.CONTENT_FILTER],
  ["image_content_policy_violation", ErrorKind.CONTENT_FILTER],
  ["invalid_api_key", ErrorKind.AUTHENTICATION],
  ["model_not_found", ErrorKind.NOT_FOUND],
  ["insufficient_quota", ErrorKind.QUOTA_EXCEEDED],
  ["credit_balance_exhausted", ErrorKind.QUOTA_EXCEEDED],
  ["organization_spend_limit_exceeded", ErrorKind.QUOTA_EXCEEDED],
  ["project_spend_limit_exceeded", ErrorKind.QUOTA_EXCEEDED],
  ["organization_usage_limit_exceeded", ErrorKind.QUOTA_EXCEEDED],
  ["rate_limit_exceeded", ErrorKind.RATE_LIMIT],
  ["server_error", ErrorKind.SERVER],
  ["server_is_overloaded", ErrorKind.SERVER],
  ["vector_store_timeout", ErrorKind.SERVER],
  ["data_residency_mismatch", ErrorKind.INVALID_REQUEST],
  ["unsupported_image_media_type", ErrorKind.INVALID_REQUEST],
]);

// Types say less than codes and statuses; they decide only inside a stream, where there is no status.
const KIND_OF_TYPE: ReadonlyMap<string, ErrorKind> = new Map([
  ["invalid_request_error", ErrorKind.INVALID_REQUEST],
  ["authentication_error", ErrorKind.AUTHENTICATION],
  ["rate_limit_error", ErrorKind.RATE_LIMIT],
  ["tokens", ErrorKind.RATE_LIMIT],
  ["requests", ErrorKind.RATE_LIMIT],
]);
