/** Their failure -> our InferenceError: of an HTTP answer, or in a body or stream that began with success. */

import { errorOf, type ProviderErrorOptions, type SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import { boundedRaw, kindOfStatus, repeatableMessage } from "../../kit/adapter/classify.ts";
import type { WireFailure } from "../../kit/adapter/http-adapter.ts";
import { parseRetryDelay, retryAfterOf, retryDelayInText } from "../../kit/http/retry-after.ts";
import {
  asInt32,
  asObject,
  asString,
  type JsonObject,
  objectIn,
  objectsIn,
  textIn,
  tryParseJson,
} from "../../kit/json/json.ts";

/** A `google.rpc.Status` (provider documentation: "Troubleshooting", google/rpc/error_details.proto). */
interface Complaint {
  /** The HTTP status, as the body tells it. */
  readonly code: number | undefined;
  /** The canonical code by name, for instance `RESOURCE_EXHAUSTED`. */
  readonly status: string;
  readonly message: string;
  /** `ErrorInfo.reason`, for instance `API_KEY_INVALID`. */
  readonly reason: string;
  /** The limit that was met, as `ErrorInfo.metadata` tells it. */
  readonly limit: string;
  /** `QuotaFailure`: the quotas that were met. */
  readonly quotaIds: readonly string[];
  /** `RetryInfo`, in seconds. */
  readonly retryDelay: number | undefined;
}

/** A failed HTTP answer as our error. */
export function toError({ provider, status, headers, body, request }: WireFailure): SDKError {
  const complaint = complaintIn(tryParseJson(body));
  return failed(complaint, request, {
    provider,
    httpStatusCode: status,
    retryAfter: retryAfterOf(headers),
    rawJson: request.includeRaw ? boundedRaw(body) : undefined,
  });
}

/** The failure in an object that holds `error`: an event of a stream, or a body that came with success. */
export function reportedError(
  holder: JsonObject,
  { provider, providerRequestId, request }: CallFacts,
): SDKError {
  return failed(complaintIn(holder), request, {
    provider,
    requestId: providerRequestId,
    rawJson: request.includeRaw ? boundedRaw(JSON.stringify(holder)) : undefined,
  });
}

/** The complaint in a body, which is wrapped into a list where a stream without events was asked for. */
function complaintIn(body: unknown): Complaint {
  const holder = asObject(Array.isArray(body) ? body[0] : body) ?? {};
  const error = asObject(holder.error) ?? {};
  const details = objectsIn(error.details);
  const info = detailIn(details, "ErrorInfo");
  const violations = objectsIn(detailIn(details, "QuotaFailure").violations);
  return {
    code: asInt32(error.code),
    status: textIn(error.status),
    message: asString(error.message) ?? textIn(holder.error),
    reason: textIn(info.reason),
    limit: textIn(objectIn(info.metadata).quota_limit_value),
    quotaIds: violations.map(({ quotaId }) => textIn(quotaId)),
    retryDelay: parseRetryDelay(textIn(detailIn(details, "RetryInfo").retryDelay)),
  };
}

function detailIn(details: readonly JsonObject[], name: string): JsonObject {
  return details.find((detail) => textIn(detail["@type"]).endsWith(`google.rpc.${name}`)) ?? {};
}

function failed(complaint: Complaint, request: Request, options: ProviderErrorOptions): SDKError {
  const kind = kindOf(complaint, options.httpStatusCode);
  const word = complaint.reason || complaint.status;
  const said = repeatableMessage(complaint.message, request);
  const status =
    options.httpStatusCode === undefined ? "reported a failure" : `answered ${options.httpStatusCode}`;
  const text = `${options.provider} ${status}${word === "" ? "" : ` (${word})`}${said === "" ? "" : `: ${said}`}`;
  const delay = options.retryAfter ?? complaint.retryDelay ?? retryDelayInText(complaint.message);
  return errorOf(kind, text, {
    ...options,
    // Waiting does not bring a quota back that is used up for the day, or is none.
    retryAfter: kind === ErrorKind.QUOTA_EXCEEDED ? undefined : delay,
    errorCode: word === "" ? undefined : word,
  });
}

/** The kind of a failure: its structured codes first, then the HTTP status, the message only to tell a 400 or 429 apart. */
function kindOf(complaint: Complaint, httpStatus: number | undefined): ErrorKind {
  const status = httpStatus ?? complaint.code;
  const known =
    KIND_OF_STATUS.get(complaint.status) ?? (status === undefined ? undefined : kindOfStatus(status));
  switch (known) {
    case ErrorKind.INVALID_REQUEST:
      return kindOfRefusal(complaint);
    case ErrorKind.RATE_LIMIT:
      return isUsedUp(complaint) ? ErrorKind.QUOTA_EXCEEDED : ErrorKind.RATE_LIMIT;
    default:
      return known ?? ErrorKind.PROVIDER;
  }
}

function kindOfRefusal({ reason, message }: Complaint): ErrorKind {
  // A wrong key is a 400 here.
  if (reason === "API_KEY_INVALID" || /^API key (?:not valid|expired)/.test(message))
    return ErrorKind.AUTHENTICATION;
  return TOO_LONG.test(message) ? ErrorKind.CONTEXT_LENGTH : ErrorKind.INVALID_REQUEST;
}

const TOO_LONG = /input token count .{0,40}exceeds the maximum number of tokens/i;

/** Whether a quota comes back too late to wait for it: a day's, one of zero, or money. */
function isUsedUp({ quotaIds, limit, message, retryDelay }: Complaint): boolean {
  if (quotaIds.some((id) => id.includes("PerDay")) || limit === "0" || /\blimit: 0\b/.test(message))
    return true;
  // Messages about any quota mention billing; only where nothing else is said is it about money.
  return quotaIds.length === 0 && retryDelay === undefined && /\bbilling\b|\bcredits?\b/i.test(message);
}

/** By canonical code (google/rpc/code.proto). */
const KIND_OF_STATUS: ReadonlyMap<string, ErrorKind> = new Map([
  ["INVALID_ARGUMENT", ErrorKind.INVALID_REQUEST],
  // A country that is not served, or an account without billing.
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
