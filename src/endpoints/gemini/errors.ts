/** SDKErrors -> errors of Google's APIs (google/rpc/status.proto): the status and the body of a failed response. */

import { ProviderError, type SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { FailedResponse } from "../../http/endpoint.ts";
import type { ErrorBody, ErrorDetail } from "../../wire/gemini/error.ts";
import { failedResponse } from "../openai/errors.ts";

/** The canonical codes by name, by HTTP status (google/rpc/code.proto). */
const CODES: ReadonlyMap<number, string> = new Map([
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [409, "ABORTED"],
  [429, "RESOURCE_EXHAUSTED"],
  [499, "CANCELLED"],
  [500, "INTERNAL"],
  [502, "UNAVAILABLE"],
  [503, "UNAVAILABLE"],
  [504, "DEADLINE_EXCEEDED"],
]);

const TYPES = "type.googleapis.com/google.rpc";

/** Creates the response to a failed request. */
export function failedGeneration(error: SDKError): FailedResponse {
  const { status, headers } = failedResponse(error);
  return { status, headers, body: Buffer.from(JSON.stringify(toErrorBody(error, status))) };
}

/** Returns the body of an error, which is also the last element of a failed stream. */
export function toErrorBody(error: SDKError, code = failedResponse(error).status): ErrorBody {
  const status = CODES.get(code) ?? (code < 500 ? "INVALID_ARGUMENT" : "UNKNOWN");
  return { error: { code, message: error.message, status, details: toDetails(error) } };
}

/** Returns the details that Google's clients act on: the cause, the invalid fields, and when to retry. */
function toDetails(error: SDKError): readonly ErrorDetail[] {
  const fieldViolations = error.violations.map(({ field, description }) => ({ field, description }));
  const { retryAfter = -1 } = error;
  return [
    { "@type": `${TYPES}.ErrorInfo`, reason: getReason(error), domain: "outrigger" },
    ...(fieldViolations.length === 0 ? [] : [{ "@type": `${TYPES}.BadRequest`, fieldViolations }]),
    ...(retryAfter >= 0 && Number.isFinite(retryAfter)
      ? [{ "@type": `${TYPES}.RetryInfo`, retryDelay: `${Number(retryAfter.toFixed(3))}s` }]
      : []),
  ];
}

/** Returns Google's reason for an invalid access key, which its clients check. Otherwise, returns the error's kind. */
function getReason(error: SDKError): string {
  const isAboutCaller = error instanceof ProviderError && error.provider === "";
  return isAboutCaller && error.kind === ErrorKind.AUTHENTICATION ? "API_KEY_INVALID" : error.kindName;
}
