import { type ReceivedRequest, Rejection, type WholeAnswer } from "../wire-format.ts";
import { anthropicHeaders } from "./headers.ts";

/** The `error` object of Anthropic's API. */
export interface AnthropicError {
  readonly type: string;
  readonly message: string;
  /** More of it, where the API has more. */
  readonly details?: { readonly error_code: string; readonly unsupported?: readonly string[] };
}

/** Thrown by whatever checks a request: what Anthropic would say against it. */
export class Problem extends Error {
  readonly status: number;
  readonly error: AnthropicError;

  constructor(status: number, error: AnthropicError) {
    super(error.message);
    this.name = "Problem";
    this.status = status;
    this.error = error;
  }
}

/** A problem with the request itself: status 400. */
export function invalidRequest(message: string): Problem {
  return new Problem(400, { type: "invalid_request_error", message });
}

/** A problem with what stands at a path such as `messages.0.content`. */
export function invalidAt(path: string, message: string): Problem {
  return invalidRequest(`${path}: ${message}`);
}

/** Runs what may find a problem, and turns it into the answer to the request. */
export function rejectingProblems<Result>(request: ReceivedRequest, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw error instanceof Problem ? new Rejection(renderProblem(request, error)) : error;
  }
}

/** Renders a problem as Anthropic's error body. */
export function renderProblem(request: ReceivedRequest, { status, error }: Problem): WholeAnswer {
  const body = { type: "error", error, request_id: request.requestId };
  const headers = anthropicHeaders(request, { contentType: "application/json", usage: undefined });
  return { status, headers, body: JSON.stringify(body) };
}
