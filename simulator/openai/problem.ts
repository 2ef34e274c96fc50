import { type ReceivedRequest, Rejection, type WholeAnswer } from "../wire-format.ts";
import { type ErrorShape, type OpenAIError, shapeError } from "./error-shape.ts";
import { openaiHeaders } from "./headers.ts";

/** Thrown by the checks of a request: the error that OpenAI would return. */
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

/** Creates a problem with the request itself: status 400 by default. */
export function invalidRequest(
  message: string,
  param: string | null,
  code: string | null,
  status = 400,
): Problem {
  return new Problem(status, { message, type: "invalid_request_error", param, code });
}

/** Runs a function and turns the problem that it throws into the answer to the request. */
export function rejectingProblems<Result>(
  request: ReceivedRequest,
  run: () => Result,
  shape?: ErrorShape,
): Result {
  try {
    return run();
  } catch (error) {
    throw error instanceof Problem ? new Rejection(renderProblem(request, error, shape)) : error;
  }
}

/** Renders a problem as OpenAI's error, or in the form of a server that is compatible with OpenAI. */
export function renderProblem(
  request: ReceivedRequest,
  { status, error }: Problem,
  shape: ErrorShape = "openai",
): WholeAnswer {
  const body = shapeError(error, status, shape);
  const headers = openaiHeaders(request, { contentType: "application/json", inputTokens: 0 });
  return { status, headers, body: `${JSON.stringify(body, undefined, 2)}\n` };
}
