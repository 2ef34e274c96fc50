import type { ErrorDetail, RpcStatus } from "../../src/wire/gemini/error.ts";
import { type ReceivedRequest, Rejection, type WholeAnswer } from "../wire-format.ts";
import { geminiHeaders, jsonType } from "./headers.ts";
import { readTarget } from "./target.ts";

/** Thrown by the checks of a request: the error that Google returns. */
export class Problem extends Error {
  readonly error: RpcStatus;

  constructor(error: RpcStatus) {
    super(error.message);
    this.name = "Problem";
    this.error = error;
  }
}

/** Creates the problem of an invalid request: status 400. */
export function invalidArgument(message: string): Problem {
  return new Problem({ code: 400, message, status: "INVALID_ARGUMENT" });
}

/** Creates the problem of an invalid field. @param path As the API spells it, for instance `contents[0].parts`. */
export function invalidField(path: string, message: string): Problem {
  return invalidArgument(`* GenerateContentRequest.${path}: ${message}\n`);
}

type FieldsOf<Detail> = Detail extends unknown ? Omit<Detail, "@type"> : never;

/** Creates a detail of an error. @param type Its type in `google.rpc`. */
export function detail(type: string, fields: FieldsOf<ErrorDetail>): ErrorDetail {
  return { "@type": `type.googleapis.com/google.rpc.${type}`, ...fields };
}

/** Creates Google's error for a path without a resource. */
export function notFound(): Problem {
  return new Problem({ code: 404, message: "Requested entity was not found.", status: "NOT_FOUND" });
}

/** Runs a check, and turns a problem that it throws into the answer to the request. */
export function rejectingProblems<Result>(request: ReceivedRequest, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw error instanceof Problem ? new Rejection(renderError(request, error.error)) : error;
  }
}

/** Renders an error as Google's answer. If a stream as a JSON list was requested, the error is in a list too. */
export function renderError(request: ReceivedRequest, error: RpcStatus): WholeAnswer {
  const target = readTarget(request);
  const isList = target?.streams === true && !target.sse;
  const body = JSON.stringify(isList ? [{ error }] : { error }, undefined, 2);
  return {
    status: error.code,
    headers: geminiHeaders(request, jsonType),
    body: `${body}\n`,
  };
}
