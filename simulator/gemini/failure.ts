import type { ErrorDetail, RpcStatus } from "../../src/wire/gemini/error.ts";
import type { Failure, ReceivedRequest, WholeAnswer } from "../wire-format.ts";
import { detail, invalidArgument, renderError } from "./problem.ts";
import { readTarget } from "./target.ts";

/** The delay of a 429 in milliseconds, if the model string sets none. */
const defaultRetryMs = 1000;

/** The canonical code of an HTTP status. */
const statusByCode: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

const quotaMessage =
  "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.";

const internal: RpcStatus = {
  code: 500,
  message:
    "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
  status: "INTERNAL",
};

const overloaded: RpcStatus = {
  code: 503,
  message: "The model is overloaded. Please try again later.",
  status: "UNAVAILABLE",
};

const rateLimited: RpcStatus = {
  code: 429,
  message: quotaMessage,
  status: "RESOURCE_EXHAUSTED",
  details: quotaDetails("GenerateRequestsPerMinutePerProjectPerModel", "10"),
};

/** The error that Google returns for each canonical code. */
const errorByStatus: Readonly<Record<string, RpcStatus>> = {
  INVALID_ARGUMENT: {
    code: 400,
    message: "Request contains an invalid argument.",
    status: "INVALID_ARGUMENT",
  },
  FAILED_PRECONDITION: {
    code: 400,
    message: "User location is not supported for the API use.",
    status: "FAILED_PRECONDITION",
  },
  UNAUTHENTICATED: {
    code: 401,
    message:
      "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
    status: "UNAUTHENTICATED",
  },
  PERMISSION_DENIED: {
    code: 403,
    message: "The caller does not have permission",
    status: "PERMISSION_DENIED",
  },
  NOT_FOUND: { code: 404, message: "Requested entity was not found.", status: "NOT_FOUND" },
  ABORTED: { code: 409, message: "The operation was aborted.", status: "ABORTED" },
  RESOURCE_EXHAUSTED: rateLimited,
  CANCELLED: { code: 499, message: "The operation was cancelled.", status: "CANCELLED" },
  INTERNAL: internal,
  UNIMPLEMENTED: {
    code: 501,
    message: "Operation is not implemented, or supported, or enabled.",
    status: "UNIMPLEMENTED",
  },
  UNAVAILABLE: overloaded,
  DEADLINE_EXCEEDED: {
    code: 504,
    message: "Deadline expired before operation could complete.",
    status: "DEADLINE_EXCEEDED",
  },
};

const invalidKey = "API key not valid. Please pass a valid API key.";

/** The errors for the codes that all simulated providers know. */
const errorByCode: Readonly<Record<string, RpcStatus>> = {
  API_KEY_INVALID: {
    code: 400,
    message: invalidKey,
    status: "INVALID_ARGUMENT",
    details: [
      detail("ErrorInfo", {
        reason: "API_KEY_INVALID",
        domain: "googleapis.com",
        metadata: { service: "generativelanguage.googleapis.com" },
      }),
      detail("LocalizedMessage", { locale: "en-US", message: invalidKey }),
    ],
  },
  rate_limit_exceeded: rateLimited,
  insufficient_quota: {
    ...rateLimited,
    details: quotaDetails("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "50"),
  },
  server_error: internal,
  server_is_overloaded: overloaded,
  context_length_exceeded: {
    code: 400,
    message: "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
    status: "INVALID_ARGUMENT",
  },
};

/** Renders a failed request as Google would. */
export function rejectAsGemini(failure: Failure, request: ReceivedRequest): WholeAnswer {
  switch (failure.kind) {
    case "unknown_model":
      return renderError(request, unknownModel(request));
    case "invalid_option":
      return renderError(request, invalidArgument(failure.message).error);
    case "oversized_body": {
      const message = `Request payload size exceeds the limit: ${failure.limit} bytes.`;
      return renderError(request, invalidArgument(message).error);
    }
    case "status":
      return renderError(request, withRetry(toError(failure.status, failure.code), failure.retryAfterMs));
    default:
      return failure satisfies never;
  }
}

/** Returns the error for a code: a canonical code, a code of all simulated providers, or else an `ErrorInfo.reason`. */
export function describeFailure(code = "INTERNAL", status = 500): RpcStatus {
  const known = errorByStatus[code] ?? errorByCode[code];
  if (known !== undefined) return known;
  const error = toError(status, undefined);
  return { ...error, details: [detail("ErrorInfo", { reason: code, domain: "googleapis.com" })] };
}

/** Returns the error for a status, which is kept whatever the code is. */
function toError(status: number, code: string | undefined): RpcStatus {
  if (code !== undefined) return { ...describeFailure(code, status), code: status };
  const canonical = statusByCode[status] ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL");
  return { ...(errorByStatus[canonical] ?? internal), code: status };
}

/** Adds the time to wait to errors about quotas. */
function withRetry(error: RpcStatus, retryAfterMs: number | undefined): RpcStatus {
  if (error.status !== "RESOURCE_EXHAUSTED") return error;
  const retryDelay = `${(retryAfterMs ?? defaultRetryMs) / 1000}s`;
  return {
    ...error,
    message: `${error.message}\nPlease retry in ${retryDelay}.`,
    details: [...(error.details ?? []), detail("RetryInfo", { retryDelay })],
  };
}

function quotaDetails(quotaId: string, quotaValue: string): readonly ErrorDetail[] {
  const violation = {
    quotaMetric: "generativelanguage.googleapis.com/generate_content_requests",
    quotaId,
    quotaDimensions: { location: "global", model: "simulated" },
    quotaValue,
  };
  const link = {
    description: "Learn more about Gemini API quotas",
    url: "https://ai.google.dev/gemini-api/docs/rate-limits",
  };
  return [detail("QuotaFailure", { violations: [violation] }), detail("Help", { links: [link] })];
}

function unknownModel(request: ReceivedRequest): RpcStatus {
  const { resource = "", version = "", streams = false } = readTarget(request) ?? {};
  const method = streams ? "streamGenerateContent" : "generateContent";
  return {
    code: 404,
    message: `${resource.slice(0, 120)} is not found for API version ${version}, or is not supported for ${method}. Call ModelService.ListModels to see the list of available models and their supported methods.`,
    status: "NOT_FOUND",
  };
}
