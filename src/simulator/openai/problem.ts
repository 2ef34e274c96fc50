import { type ReceivedRequest, Rejection } from "../wire-format.ts";
import { openaiHeaders } from "./headers.ts";

/** The `error` object of OpenAI's APIs. */
export interface OpenAIError {
  readonly message: string;
  readonly type: string;
  /** The parameter at fault, as a path such as `input[0].content`. */
  readonly param: string | null;
  readonly code: string | null;
}

/** Thrown by whatever checks a request: what OpenAI would say against it. */
export class Problem extends Error {
  readonly status: number;
  readonly error: OpenAIError;

  constructor(status: number, error: OpenAIError) {
    super(error.message);
    this.name = "Problem";
    this.status = status;
    this.error = error;
  }
}

/** A problem with the request itself: status 400 unless said otherwise. */
export function invalidRequest(
  message: string,
  param: string | null,
  code: string | null,
  status = 400,
): Problem {
  return new Problem(status, { message, type: "invalid_request_error", param, code });
}

/** Runs what may find a problem, and turns it into the answer to the request. */
export function rejectingProblems<Result>(request: ReceivedRequest, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw error instanceof Problem ? new Rejection(renderProblem(request, error)) : error;
  }
}

/** Renders a problem as OpenAI's error body. A 401 repeats its status in the body, as OpenAI's does. */
export function renderProblem(request: ReceivedRequest, problem: Problem): Rejection["answer"] {
  const { status, error } = problem;
  const body = status === 401 ? { error, status } : { error };
  const headers = openaiHeaders(request, { contentType: "application/json", inputTokens: 0 });
  return { status, headers, body: `${JSON.stringify(body, undefined, 2)}\n` };
}
