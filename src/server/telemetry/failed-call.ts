/** What the log says about a failed call: whose fault the failure is, and its reason. */
import { Code } from "@connectrpc/connect";
import { ProviderError, RequestTimeoutError, type SDKError } from "../../core/errors.ts";
import { boundedText } from "../../core/text.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import { isRefusal } from "../../middleware/refusals.ts";
import { kindName } from "../status/status-code.ts";
import type { Outcome } from "./call-observer.ts";
import { roundedMs } from "./call-recorder.ts";

/**
 * Whose fault a failed call is. The sidecar's faults include its configuration and the keys that it has for providers.
 */
export type FailedBy = "caller" | "provider" | "network" | "sidecar";

/** Returns whose fault a failed call is. */
export function findFailedBy({ code, error, fault }: Pick<Outcome, "code" | "error" | "fault">): FailedBy {
  // INTERNAL is also the status for a client that breaks gRPC, which is not a bug of this program.
  if (error === undefined) return code === Code.Internal && fault !== undefined ? "sidecar" : "caller";
  const isFromProvider = getProvider(error) !== "";
  switch (error.kind) {
    case ErrorKind.AUTHENTICATION:
    case ErrorKind.ACCESS_DENIED:
      return isFromProvider ? "sidecar" : "caller";
    case ErrorKind.INTERNAL:
    case ErrorKind.CONFIGURATION:
      return "sidecar";
    case ErrorKind.SERVER:
      // A circuit breaker refuses calls because the provider failed.
      return isFromProvider || isRefusal(error) ? "provider" : "sidecar";
    case ErrorKind.RATE_LIMIT:
    case ErrorKind.QUOTA_EXCEEDED:
    case ErrorKind.REQUEST_TIMEOUT:
      return isFromProvider ? "provider" : "caller";
    case ErrorKind.NETWORK:
    case ErrorKind.STREAM:
      return "network";
    case ErrorKind.NOT_FOUND:
    case ErrorKind.INVALID_REQUEST:
    case ErrorKind.CONTEXT_LENGTH:
    case ErrorKind.CONTENT_FILTER:
    case ErrorKind.UNSUPPORTED_TOOL_CHOICE:
    case ErrorKind.ABORT:
      return "caller";
    default:
      return "provider";
  }
}

/** Returns the additional fields of a failed call's log line. Undefined fields are not written. */
export function toFailureFields(outcome: Outcome): Record<string, unknown> {
  const { error, attempts, times } = outcome;
  const fields: Record<string, unknown> = {
    failed_by: findFailedBy(outcome),
    attempts: attempts > 0 ? attempts : undefined,
    provider_ms: times && roundedMs(times.provider),
    queue_ms: times && roundedMs(times.queue),
  };
  if (error === undefined) return fields;
  fields.error_kind = kindName(error.kind);
  fields.fields = findFields(error);
  fields.reason = findReason(outcome, error);
  if (!(error instanceof ProviderError || error instanceof RequestTimeoutError)) return fields;
  fields.http_status = error.httpStatusCode;
  fields.provider_code = PROVIDER_CODE.test(error.errorCode ?? "") ? error.errorCode : undefined;
  fields.provider_request_id = error.requestId;
  return fields;
}

/** A word such as `invalid_api_key`. Anything else may contain a caller's text. */
const PROVIDER_CODE = /^[\w.:-]{1,64}$/;

function getProvider(error: SDKError): string {
  return error instanceof ProviderError || error instanceof RequestTimeoutError ? error.provider : "";
}

/**
 * Returns why a call failed. The messages of providers and of refused requests may quote what the caller sent: they are
 * returned only without its texts. Bugs are described by their stack instead.
 */
function findReason({ reason }: Outcome, error: SDKError): string | undefined {
  if (reason !== undefined) return reason;
  const mayQuote = getProvider(error) !== "" || error.kind === ErrorKind.INVALID_REQUEST;
  if (mayQuote || error.kind === ErrorKind.INTERNAL) return undefined;
  return boundedText(error.message, MAX_REASON_BYTES);
}

const MAX_REASON_BYTES = 300;

/** Returns the paths of the first invalid fields, without keys that a caller chose. */
function findFields({ violations }: SDKError): string[] | undefined {
  const paths = violations
    .slice(0, MAX_FIELDS)
    .map(({ field }) => field.replace(/"[^"]*"|'[^']*'/g, "…"))
    .filter((path) => PATH.test(path));
  return paths.length === 0 ? undefined : paths;
}

const MAX_FIELDS = 3;
const PATH = /^[\w$.[\]\u2026-]{1,128}$/;
