import { type ReceivedRequest, Rejection, type WholeAnswer } from "../wire-format.ts";
import { geminiHeaders } from "./headers.ts";
import { readTarget } from "./target.ts";

/** The `error` object of Google's APIs: a `google.rpc.Status`. */
export interface RpcError {
  /** The HTTP status. */
  readonly code: number;
  readonly message: string;
  /** The canonical code by name, such as `INVALID_ARGUMENT`. */
  readonly status: string;
  readonly details?: readonly ErrorDetail[];
}

/** One of the details of an error. */
export type ErrorDetail = Readonly<Record<string, unknown>>;

/** Thrown by whatever checks a request: what Google would say against it. */
export class Problem extends Error {
  readonly error: RpcError;

  constructor(error: RpcError) {
    super(error.message);
    this.name = "Problem";
    this.error = error;
  }
}

/** A problem with the request itself: status 400. */
export function invalidArgument(message: string): Problem {
  return new Problem({ code: 400, message, status: "INVALID_ARGUMENT" });
}

/** A problem with a field of the request, by its path in the words of the API, such as `contents[0].parts`. */
export function invalidField(path: string, message: string): Problem {
  return invalidArgument(`* GenerateContentRequest.${path}: ${message}\n`);
}

/** A detail of a type of `google.rpc`. */
export function detail(type: string, fields: ErrorDetail): ErrorDetail {
  return { "@type": `type.googleapis.com/google.rpc.${type}`, ...fields };
}

/** Runs what may find a problem, and turns it into the answer to the request. */
export function rejectingProblems<Result>(request: ReceivedRequest, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw error instanceof Problem ? new Rejection(renderError(request, error.error)) : error;
  }
}

/** Renders an error as Google's body. Where a stream was to be a JSON list, so is the error. */
export function renderError(request: ReceivedRequest, error: RpcError): WholeAnswer {
  const target = readTarget(request);
  const isList = target?.streams === true && !target.sse;
  const body = JSON.stringify(isList ? [{ error }] : { error }, undefined, 2);
  return {
    status: error.code,
    headers: geminiHeaders(request, "application/json; charset=UTF-8"),
    body: `${body}\n`,
  };
}
