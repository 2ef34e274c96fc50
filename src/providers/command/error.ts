/** Their failure -> our error. */
import { createError, type SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { kindOfStatus } from "../../kit/adapter/classify.ts";
import { createProviderError } from "../../kit/adapter/provider-error.ts";
import { asObject, textIn, tryReadJson } from "../../kit/json/json.ts";
import { isContextOverflow } from "../context-overflow.ts";
import type { ProgramExit } from "./process.ts";

/** The failed call. */
interface FailedCall {
  readonly provider: string;
  readonly request: Request;
}

/**
 * Returns the error of a program that did not exit with status 0. It includes the last line of standard error, unless
 * that repeats the prompt.
 */
export function exitError(exit: ProgramExit, { provider, request }: FailedCall): SDKError {
  const code = exit.signal ?? `exit status ${exit.code}`;
  const message = exit.stderr.trimEnd().split("\n").at(-1) ?? "";
  const failure = { code, message, getKind: () => ErrorKind.SERVER };
  return createProviderError(failure, { provider, request, body: { ...exit } });
}

/** Returns the error that a program reports in its output. */
export function reportedError(report: unknown, { provider, request }: FailedCall): SDKError {
  const { message, code, type } = readReport(report);
  const failure = { code: code || type, message, getKind: (text: string) => getKind([code, type], text) };
  return createProviderError(failure, { provider, request, body: asObject(report) ?? { message } });
}

/** Creates the error of a call that exceeds the limit on processes. */
export function tooManyProcesses(provider: string, max: number): SDKError {
  const message = `${provider} already runs ${max} programs, the limit set by max_processes`;
  return createError(ErrorKind.RATE_LIMIT, message, { provider, retryAfter: 1 });
}

/** Maximum nesting of reports. */
const MAX_LEVELS = 4;

/** A program's report. Fields that it does not report are empty. */
interface Report {
  readonly message: string;
  readonly code: string;
  readonly type: string;
}

/** Reads a report: a text, an object with a message, or a text that is the JSON of such an object. */
function readReport(report: unknown, levels = MAX_LEVELS): Report {
  const object = asObject(report) ?? asObject(tryReadJson(textIn(report)));
  if (object === undefined) return { message: textIn(report), code: "", type: "" };
  const inner = textIn(object.message);
  const nested = asObject(object.error) ?? asObject(tryReadJson(inner));
  if (nested !== undefined && levels > 0) return readReport(nested, levels - 1);
  return { message: inner || textIn(object.error), code: textIn(object.code), type: textIn(object.type) };
}

function getKind(codes: readonly string[], message: string): ErrorKind {
  const [, status = ""] = /\bstatus(?: code)?:? (\d{3})\b/.exec(message) ?? [];
  const httpStatus = status === "" ? undefined : Number(status);
  if (isContextOverflow({ codes, message, status: httpStatus })) return ErrorKind.CONTEXT_LENGTH;
  const known = codes.map((code) => KIND_OF_CODE.get(code)).find((kind) => kind !== undefined);
  return known ?? (httpStatus === undefined ? ErrorKind.SERVER : kindOfStatus(httpStatus));
}

/** Codes that agents pass on from the models that they call. */
const KIND_OF_CODE: ReadonlyMap<string, ErrorKind> = new Map([
  ["rate_limit_exceeded", ErrorKind.RATE_LIMIT],
  ["insufficient_quota", ErrorKind.QUOTA_EXCEEDED],
  ["usage_limit_reached", ErrorKind.QUOTA_EXCEEDED],
  ["invalid_api_key", ErrorKind.AUTHENTICATION],
  ["authentication_error", ErrorKind.AUTHENTICATION],
  ["model_not_found", ErrorKind.NOT_FOUND],
  ["content_filter", ErrorKind.CONTENT_FILTER],
  ["invalid_request_error", ErrorKind.INVALID_REQUEST],
]);
