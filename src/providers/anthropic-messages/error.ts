/** Their failure -> our InferenceError: of an HTTP answer, of a body, of an event in a stream. */

import { errorOf, type ProviderErrorOptions, type SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import { boundedRaw, kindOfStatus, repeatableMessage } from "../../kit/adapter/classify.ts";
import type { WireFailure } from "../../kit/adapter/http-adapter.ts";
import type { HttpHeaders } from "../../kit/http/headers.ts";
import { retryAfterOf, shouldRetryOf } from "../../kit/http/retry-after.ts";
import { asObject, asString, type JsonObject, objectIn, textIn, tryParseJson } from "../../kit/json/json.ts";
import type { WireEvent } from "./wire.ts";

/** What the API says of a failure (provider documentation: "Errors"). */
interface Complaint {
  /** `error.type`, the broad category. */
  readonly type: string;
  /** `error.details.error_code`, where the API tells more. */
  readonly code: string;
  readonly message: string;
  /** Id of the exchange; empty where the body does not tell. */
  readonly requestId: string;
}

/** The provider's id of an exchange, from the headers of its answer; empty where there is none. */
export function requestIdOf(headers: Pick<HttpHeaders, "get">): string {
  return headers.get("request-id") ?? "";
}

/** A failed HTTP answer as our error. */
export function toError({ provider, status, headers, body, request }: WireFailure): SDKError {
  const complaint = complaintIn(asObject(tryParseJson(body)));
  return failed(kindOf(complaint, status), complaint, request, {
    provider,
    httpStatusCode: status,
    requestId: requestIdOf(headers) || complaint.requestId,
    retryable: shouldRetryOf(headers),
    retryAfter: retryAfterOf(headers),
    rawJson: request.includeRaw ? boundedRaw(body) : undefined,
  });
}

/** Whether a body or an event reports a failure instead of an answer. */
export function isFailure(body: JsonObject | undefined): boolean {
  return body?.type === "error" || asObject(body?.error) !== undefined;
}

/** The failure in an `error` event, or in a body that came with success. */
export function reportedError(
  holder: WireEvent,
  { provider, providerRequestId, request }: CallFacts,
): SDKError {
  const complaint = complaintIn(holder);
  return failed(kindOf(complaint, undefined), complaint, request, {
    provider,
    requestId: providerRequestId || complaint.requestId,
    rawJson: request.includeRaw ? boundedRaw(JSON.stringify(holder)) : undefined,
  });
}

/** Proxies and compatible servers put their complaint at the top, or say it as plain text. */
function complaintIn(body: JsonObject | undefined): Complaint {
  const error = asObject(body?.error) ?? body ?? {};
  const type = textIn(error.type);
  return {
    type: type === "error" ? "" : type,
    code: textIn(objectIn(error.details).error_code),
    message: asString(error.message) ?? asString(body?.error) ?? asString(body?.detail) ?? "",
    requestId: textIn(body?.request_id),
  };
}

function failed(
  kind: ErrorKind,
  { type, code, message }: Complaint,
  request: Request,
  options: ProviderErrorOptions,
): SDKError {
  const word = code || type;
  const said = [repeatableMessage(message, request), HINTS.get(type) ?? ""].filter(Boolean).join("; ");
  const status =
    options.httpStatusCode === undefined ? "reported a failure" : `answered ${options.httpStatusCode}`;
  const text = `${options.provider} ${status}${word === "" ? "" : ` (${word})`}${said === "" ? "" : `: ${said}`}`;
  const errorCode = word === "" ? undefined : word;
  if (kind !== ErrorKind.QUOTA_EXCEEDED) return errorOf(kind, text, { ...options, errorCode });
  // Waiting does not bring money back.
  return errorOf(kind, text, { ...options, errorCode, retryable: false, retryAfter: undefined });
}

const HINTS: ReadonlyMap<string, string> = new Map([
  ["request_too_large", "the limit is on the bytes of the request, 32 MB, not on its tokens"],
]);

/** The kind of a failure: the structured code, then the type, then the HTTP status; the message only to tell a 400 apart. */
function kindOf({ code, type, message }: Complaint, status: number | undefined): ErrorKind {
  const byCode = KIND_OF_CODE.get(code);
  if (byCode !== undefined) return byCode;
  if (code === "" && (type === "invalid_request_error" || (type === "" && status === 400))) {
    const refined = REFINED.find(([pattern]) => pattern.test(message));
    if (refined !== undefined) return refined[1];
  }
  const byType = KIND_OF_TYPE.get(type);
  if (byType !== undefined) return byType;
  return status === undefined ? ErrorKind.PROVIDER : kindOfStatus(status);
}

const KIND_OF_CODE: ReadonlyMap<string, ErrorKind> = new Map([
  ["contract_spend_limit_reached", ErrorKind.QUOTA_EXCEEDED],
  ["enforced_spend_limit_reached", ErrorKind.QUOTA_EXCEEDED],
  ["linked_organization_spend_limit_reached", ErrorKind.QUOTA_EXCEEDED],
  ["linked_organization_billing_unavailable", ErrorKind.QUOTA_EXCEEDED],
  ["ramp_limit_exceeded", ErrorKind.RATE_LIMIT],
  ["organization_on_hold", ErrorKind.ACCESS_DENIED],
  ["compaction_unavailable", ErrorKind.SERVER],
  ["cmek_key_unreachable", ErrorKind.SERVER],
]);

const KIND_OF_TYPE: ReadonlyMap<string, ErrorKind> = new Map([
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

/** What the API tells of a wrong request in words alone. */
const REFINED: readonly (readonly [pattern: RegExp, kind: ErrorKind])[] = [
  [/prompt is too long|exceeds? (?:the )?context (?:limit|window)/i, ErrorKind.CONTEXT_LENGTH],
  [/credit balance is too low|specified api usage limits/i, ErrorKind.QUOTA_EXCEEDED],
];
