import type { ErrorType } from "../../src/wire/anthropic-messages/error.ts";
import type { Failure, ReceivedRequest, WholeAnswer } from "../wire-format.ts";
import { anthropicHeaders } from "./headers.ts";
import { type AnthropicError, invalidRequest, Problem, renderProblem } from "./problem.ts";

/** The delay of a 429 in milliseconds, if the model string gives none. */
const defaultRetryAfter = 1000;

/** The type of an error with a status, if the model string names no code. */
const typeByStatus: Readonly<Record<number, ErrorType>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  503: "overloaded_error",
  504: "timeout_error",
  529: "overloaded_error",
};

/** The status of a failed whole answer with an error of that type. */
const statusByType: { readonly [Type in ErrorType]?: number } = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

const rateLimited: AnthropicError = {
  type: "rate_limit_error",
  message:
    "This request would exceed your organization's rate limit of 4,000 requests per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits.",
};

const internal: AnthropicError = { type: "api_error", message: "Internal server error" };

const overloaded: AnthropicError = { type: "overloaded_error", message: "Overloaded" };

/** Anthropic's error of each type. */
const errorByType: Readonly<Record<string, AnthropicError>> = {
  authentication_error: { type: "authentication_error", message: "API key is invalid." },
  billing_error: {
    type: "billing_error",
    message: "There is an issue with your billing or payment information.",
  },
  permission_error: {
    type: "permission_error",
    message: "Your API key does not have permission to use the specified resource.",
  },
  not_found_error: { type: "not_found_error", message: "The requested resource could not be found." },
  conflict_error: { type: "conflict_error", message: "The request conflicts with another one." },
  request_too_large: { type: "request_too_large", message: "Request exceeds the maximum size" },
  rate_limit_error: rateLimited,
  api_error: internal,
  timeout_error: { type: "timeout_error", message: "Request timed out" },
  overloaded_error: overloaded,
};

/** Anthropic's error for each code that all simulated providers know. */
const errorByCode: Readonly<Record<string, AnthropicError>> = {
  rate_limit_exceeded: rateLimited,
  server_error: internal,
  server_is_overloaded: overloaded,
  insufficient_quota: {
    type: "invalid_request_error",
    message:
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
  },
  context_length_exceeded: {
    type: "invalid_request_error",
    message: "prompt is too long: 1000001 tokens > 1000000 maximum",
  },
  content_filter: { type: "invalid_request_error", message: "Output blocked by content filtering policy" },
};

/** Renders a failed request as Anthropic would. */
export function rejectAsAnthropic(failure: Failure, request: ReceivedRequest): WholeAnswer {
  switch (failure.kind) {
    case "unknown_model": {
      const message = `model: ${failure.model.slice(0, 100)}`;
      return renderProblem(request, new Problem(404, { type: "not_found_error", message }));
    }
    case "invalid_option":
      return renderProblem(request, invalidRequest(`model: ${failure.message}`));
    case "oversized_body":
      return renderFailure(request, 413, "request_too_large", undefined);
    case "status":
      return renderFailure(request, failure.status, failure.code, failure.retryAfterMs);
    default:
      return failure satisfies never;
  }
}

/** Renders the error of a failed whole answer, with the matching status. */
export function renderFailed(request: ReceivedRequest, code: string | undefined): WholeAnswer {
  const status = statusByType[describeFailure(code).type] ?? 500;
  return renderFailure(request, status, code, undefined);
}

/**
 * Returns the error for a code: a type, a code that all simulated providers know, or else a code for the details of an
 * error, whose type then follows from the status.
 */
export function describeFailure(code = "api_error", status = 500): AnthropicError {
  const known = errorByType[code] ?? errorByCode[code];
  if (known !== undefined) return known;
  const type = typeOfStatus(status);
  const message = errorByType[type]?.message ?? `The simulator was asked to fail with ${code}.`;
  return { type, message, details: { error_code: code } };
}

function renderFailure(
  request: ReceivedRequest,
  status: number,
  code: string | undefined,
  retryAfterMs: number | undefined,
): WholeAnswer {
  const answer = renderProblem(request, new Problem(status, toError(status, code)));
  if (status !== 429) return answer;
  const exhaustedForMs = retryAfterMs ?? defaultRetryAfter;
  return {
    ...answer,
    headers: anthropicHeaders(request, { contentType: "application/json", usage: undefined, exhaustedForMs }),
  };
}

function toError(status: number, code: string | undefined): AnthropicError {
  if (code !== undefined) return describeFailure(code, status);
  const type = typeOfStatus(status);
  return errorByType[type] ?? { type, message: `The simulator was asked to answer ${status}.` };
}

function typeOfStatus(status: number): ErrorType {
  return typeByStatus[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
}
