import type { ErrorObject } from "../../src/wire/anthropic-messages/error.ts";
import { type ReceivedRequest, Rejection, type WholeAnswer } from "../wire-format.ts";
import { anthropicHeaders } from "./headers.ts";

/** The `error` object of Anthropic's API. */
export interface AnthropicError extends Readonly<Omit<ErrorObject, "details">> {
  /** Contains a code if the API reports one. Model options may choose any code. */
  readonly details?: { readonly error_code: string; readonly unsupported?: readonly string[] };
}

/** The reason why Anthropic would refuse a request: the status and the error of its response. */
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

/** Creates a problem with the request itself: status 400. */
export function invalidRequest(message: string): Problem {
  return new Problem(400, { type: "invalid_request_error", message });
}

/** Creates a problem with the value at a path such as `messages.0.content`. */
export function invalidAt(path: string, message: string): Problem {
  return invalidRequest(`${path}: ${message}`);
}

/** Creates the problem of a request whose method is not the endpoint's. */
export function methodNotAllowed(): Problem {
  return new Problem(405, { type: "invalid_request_error", message: "Method Not Allowed" });
}

/** Runs a check, and turns a problem that it throws into the answer to the request. */
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
