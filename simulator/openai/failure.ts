import type { Failure, ReceivedRequest, WholeAnswer } from "../wire-format.ts";
import type { OpenAIError } from "./error-shape.ts";
import { openaiHeaders } from "./headers.ts";
import { invalidRequest, Problem, renderProblem } from "./problem.ts";

/** Default delay that a 429 tells the client to wait, in milliseconds. */
const defaultRetryAfter = 1000;

/** The code for a status, if the model string names none. */
const codeByStatus: Readonly<Record<number, string>> = {
  401: "invalid_api_key",
  403: "unsupported_country_region_territory",
  404: "model_not_found",
  429: "rate_limit_exceeded",
  500: "server_error",
  502: "server_error",
  503: "server_is_overloaded",
  504: "server_error",
};

type Wording = Pick<OpenAIError, "message" | "type"> & { readonly param?: string };

/** Messages of some codes. */
export type Wordings = Readonly<Record<string, Wording>>;

const quota: Wording = {
  type: "insufficient_quota",
  message:
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
};

const flagged: Wording = {
  type: "invalid_request_error",
  message:
    "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
};

/** The status for a type, if the code has no status. */
const statusByType: Readonly<Record<string, number>> = {
  insufficient_quota: 429,
  requests: 429,
  server_error: 500,
};

/** OpenAI's message for each code. */
const wordingByCode: Wordings = {
  insufficient_quota: quota,
  credit_balance_exhausted: quota,
  rate_limit_exceeded: {
    type: "requests",
    message:
      "Rate limit reached for this model in organization org-simulator on requests per min (RPM): Limit 10000, Used 10000, Requested 1. Visit https://platform.openai.com/account/rate-limits to learn more.",
  },
  slow_down: {
    type: "requests",
    message: "The rate of requests rose too fast. Please reduce your request rate and increase it gradually.",
  },
  server_error: {
    type: "server_error",
    message: "The server had an error while processing your request. Sorry about that!",
  },
  server_is_overloaded: {
    type: "service_unavailable_error",
    message: "Our servers are currently overloaded. Please try again later.",
  },
  context_length_exceeded: {
    type: "invalid_request_error",
    message: "Your input exceeds the context window of this model. Please adjust your input and try again.",
    param: "input",
  },
  invalid_prompt: flagged,
  content_filter: flagged,
  content_policy_violation: flagged,
  invalid_api_key: {
    type: "invalid_request_error",
    message:
      "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.",
  },
  model_not_found: {
    type: "invalid_request_error",
    message: "The requested model does not exist.",
    param: "model",
  },
  unsupported_country_region_territory: {
    type: "request_forbidden",
    message: "Country, region, or territory not supported",
  },
};

/**
 * Answers a failed request with OpenAI's error.
 * @param wordings Messages that differ in one of OpenAI's APIs.
 */
export function rejectAsOpenAI(failure: Failure, request: ReceivedRequest, wordings?: Wordings): WholeAnswer {
  switch (failure.kind) {
    case "unknown_model":
      return renderProblem(request, unknownModel(failure.model));
    case "invalid_option":
      return renderProblem(request, invalidRequest(failure.message, "model", "invalid_value"));
    case "oversized_body": {
      const message = `The request body is larger than the maximum of ${failure.limit} bytes.`;
      return renderProblem(request, invalidRequest(message, null, "request_too_large", 413));
    }
    case "status":
      return rejectWithStatus(failure, request, wordings);
    default:
      return failure satisfies never;
  }
}

/**
 * Returns the error for a code, for events and failed answers.
 * @param wordings Messages that differ in one of OpenAI's APIs.
 */
export function describeFailure(
  code = "server_error",
  wordings: Wordings = {},
): OpenAIError & { readonly code: string } {
  const wording = wordings[code] ??
    wordingByCode[code] ?? {
      type: "server_error",
      message: `The simulator was configured to fail with ${code}.`,
    };
  return { message: wording.message, type: wording.type, param: wording.param ?? null, code };
}

function rejectWithStatus(
  failure: Failure & { kind: "status" },
  request: ReceivedRequest,
  wordings: Wordings | undefined,
): WholeAnswer {
  const { status, retryAfterMs, shape } = failure;
  const code = failure.code ?? codeByStatus[status];
  const error =
    code === undefined
      ? {
          message: `The simulator was configured to answer ${status}.`,
          type: errorType(status),
          param: null,
          code: null,
        }
      : describeFailure(code, wordings);
  const answer = renderProblem(request, new Problem(status, error), shape);
  if (status !== 429) return answer;
  const exhaustedForMs = retryAfterMs ?? defaultRetryAfter;
  return {
    ...answer,
    headers: openaiHeaders(request, { contentType: "application/json", inputTokens: 0, exhaustedForMs }),
  };
}

/** Returns the status for a code. */
export function toStatus(code: string): number {
  const known = Object.entries(codeByStatus).find(([, each]) => each === code);
  return known === undefined ? (statusByType[describeFailure(code).type] ?? 400) : Number(known[0]);
}

function errorType(status: number): string {
  return status < 500 ? "invalid_request_error" : "server_error";
}

function unknownModel(model: string): Problem {
  const name = model.length > 100 ? `${model.slice(0, 100)}…` : model;
  const message = `The model \`${name}\` does not exist or you do not have access to it.`;
  return invalidRequest(message, null, "model_not_found", 404);
}
