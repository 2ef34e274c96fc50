/** SDKErrors -> errors of OpenAI's API: the status and the body of a failed response, and the error of a failed run. */
import { ProviderError, type SDKError } from "../../core/errors.ts";
import { ErrorKind, type InferenceError } from "../../gen/outrigger/v1/error_pb.ts";
import type { FailedResponse } from "../../http/endpoint.ts";
import { ThreadBusyError } from "../../runs/errors.ts";
import type { ErrorObject } from "../../wire/openai-responses/error.ts";
import type { ResponseError } from "../../wire/openai-responses/response.ts";
import { toResponseId } from "./ids.ts";

/** The error of OpenAI's API for one of our error kinds. */
interface ApiError {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
}

/** For kinds that are not listed below, such as a provider's error that is not recognized. */
const UNKNOWN: ApiError = { status: 502, type: "server_error", code: "server_error" };

const API_ERRORS: ReadonlyMap<ErrorKind, ApiError> = new Map<ErrorKind, ApiError>([
  [ErrorKind.AUTHENTICATION, { status: 401, type: "invalid_request_error", code: "invalid_api_key" }],
  [ErrorKind.ACCESS_DENIED, { status: 403, type: "permission_error", code: "access_denied" }],
  [ErrorKind.NOT_FOUND, { status: 404, type: "invalid_request_error", code: null }],
  [ErrorKind.INVALID_REQUEST, { status: 400, type: "invalid_request_error", code: null }],
  [ErrorKind.CONTEXT_LENGTH, { status: 400, type: "invalid_request_error", code: "context_length_exceeded" }],
  [ErrorKind.CONTENT_FILTER, { status: 400, type: "invalid_request_error", code: "content_filter" }],
  [
    ErrorKind.UNSUPPORTED_TOOL_CHOICE,
    { status: 400, type: "invalid_request_error", code: "unsupported_value" },
  ],
  [ErrorKind.RATE_LIMIT, { status: 429, type: "rate_limit_error", code: "rate_limit_exceeded" }],
  [ErrorKind.QUOTA_EXCEEDED, { status: 429, type: "insufficient_quota", code: "insufficient_quota" }],
  [ErrorKind.SERVER, { status: 503, type: "server_error", code: "server_error" }],
  [ErrorKind.NETWORK, { status: 502, type: "server_error", code: "server_error" }],
  [ErrorKind.STREAM, { status: 502, type: "server_error", code: "server_error" }],
  [ErrorKind.REQUEST_TIMEOUT, { status: 504, type: "server_error", code: "timeout" }],
  [ErrorKind.ABORT, { status: 499, type: "server_error", code: "cancelled" }],
  [ErrorKind.CONFIGURATION, { status: 500, type: "server_error", code: "configuration" }],
  [ErrorKind.INTERNAL, { status: 500, type: "server_error", code: "server_error" }],
]);

/** A provider refused the key that Outrigger has for it. `invalid_api_key` is about the caller's access key. */
const PROVIDER_KEY: ApiError = { status: 401, type: "invalid_request_error", code: "provider_key_refused" };

/** A provider does not know the model. */
const MODEL_NOT_FOUND = "model_not_found";

/** Another response of the conversation is being written. */
const LOCKED: ApiError = { status: 409, type: "invalid_request_error", code: "conversation_locked" };

/** The provider's resource is in another state than the request expects. Clients try again. */
const CONFLICT = 409;

/** The request is larger than the provider accepts. Clients do not try again. */
const TOO_LARGE = 413;

/** The status of a body whose encoding the server does not know. */
const UNSUPPORTED_MEDIA_TYPE = 415;

const JSON_HEADERS = { "content-type": "application/json" };

/** Statuses that the official SDKs retry unless a response header forbids it. */
const isRetriedByClients = (status: number): boolean => status === 409 || status === 429 || status >= 500;

/** Returns the HTTP status of a failure. */
export function getStatus(error: SDKError): number {
  return getApiError(error).status;
}

/** Creates the response to a failed request. */
export function failedResponse(error: SDKError): FailedResponse {
  const { status } = getApiError(error);
  const retry = isRetriedByClients(status) && !error.retryable ? { "x-should-retry": "false" } : {};
  const headers = { ...JSON_HEADERS, ...retryAfterHeaders(error), ...retry };
  return { status, headers, body: Buffer.from(JSON.stringify({ error: toErrorObject(error) })) };
}

/** Returns the failure as OpenAI's API describes it. */
export function toErrorObject(error: SDKError): ErrorObject {
  const { type, code } = getApiError(error);
  const [violation] = error.violations;
  // Not every provider names the field if it does not know the model.
  const param = violation?.field ?? (code === MODEL_NOT_FOUND ? "model" : null);
  return { message: toMessage(error), type, param, code };
}

/** Returns the message, with responses instead of runs. */
function toMessage(error: SDKError): string {
  if (!(error instanceof ThreadBusyError)) return error.message;
  const found = `the response ${toResponseId(error.activeRunId)} of the same conversation is still in progress`;
  return `${found}; the responses of a conversation are written one at a time`;
}

/** Returns the failure of a run as the error of its response. The codes are always codes of the API. */
export function toResponseError({ kind, message, providerFailure }: InferenceError): ResponseError {
  const isProviderKey = kind === ErrorKind.AUTHENTICATION && providerFailure !== undefined;
  const { code, status } = isProviderKey ? PROVIDER_KEY : (API_ERRORS.get(kind) ?? UNKNOWN);
  return { code: code ?? (status < 500 ? "invalid_prompt" : "server_error"), message };
}

function getApiError(error: SDKError): ApiError {
  const meaning = error instanceof ThreadBusyError ? LOCKED : (API_ERRORS.get(error.kind) ?? UNKNOWN);
  if (!(error instanceof ProviderError)) return meaning;
  const { provider, errorCode, httpStatusCode } = error;
  if (provider === "") {
    const status = httpStatusCode === UNSUPPORTED_MEDIA_TYPE ? httpStatusCode : meaning.status;
    return { ...meaning, status, code: errorCode || meaning.code };
  }
  if (error.kind === ErrorKind.AUTHENTICATION) return PROVIDER_KEY;
  // The provider's code is more precise.
  if (error.kind === ErrorKind.INVALID_REQUEST) {
    const status = httpStatusCode === TOO_LARGE ? TOO_LARGE : meaning.status;
    return { ...meaning, status, code: errorCode || null };
  }
  // If the provider reports something as not found, it is the model. Each provider has a different code for that.
  if (error.kind === ErrorKind.NOT_FOUND) return { ...meaning, code: MODEL_NOT_FOUND };
  if (httpStatusCode === CONFLICT && error.kind === ErrorKind.PROVIDER)
    return { status: CONFLICT, type: "invalid_request_error", code: errorCode || null };
  if (httpStatusCode === TOO_LARGE && error.kind === ErrorKind.CONTEXT_LENGTH)
    return { ...meaning, status: TOO_LARGE };
  // The provider is overloaded, or has failed.
  const isOverloaded = httpStatusCode === 503 || httpStatusCode === 529;
  return error.kind === ErrorKind.SERVER && !isOverloaded ? { ...meaning, status: 502 } : meaning;
}

function retryAfterHeaders({ retryAfter }: SDKError): Readonly<Record<string, string>> {
  if (retryAfter === undefined || !Number.isFinite(retryAfter) || retryAfter < 0) return {};
  const ms = Math.ceil(retryAfter * 1000);
  return { "retry-after": String(Math.ceil(retryAfter)), "retry-after-ms": String(ms) };
}
