import { createError, type FieldViolation, type SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { boundedId, type CallFacts } from "../call/call-facts.ts";
import { findRetryDelayInText } from "../http/retry-after.ts";
import { boundedRaw, readMessage } from "./classify.ts";
import { type FieldNames, toContractField } from "./refused-field.ts";

/** A failure as an adapter has read it from a provider's body. */
export interface ReportedFailure {
  /** The provider's code or type; empty if it gives none. */
  readonly code: string;
  /** The provider's message unchanged; empty if there is none. */
  readonly message: string;
  /** The field of the request that the provider names, in the names of its API; empty or undefined if it names none. */
  readonly field?: string | undefined;
  /** Names of the API's fields in the contract. */
  readonly fieldNames?: FieldNames | undefined;
  /** Advice that Outrigger adds to the message. */
  readonly hint?: string | undefined;
  /** Seconds to wait according to the body. A delay in the headers takes precedence. */
  readonly retryAfter?: number | undefined;
  /**
   * Returns the kind of the failure.
   * @param message The provider's message; empty if it repeats the caller's text.
   */
  getKind(message: string): ErrorKind;
}

/** The source of a failure, and the request that failed. */
export interface FailureSource {
  readonly provider: string;
  readonly request: Request;
  /** The fields that the elements of the conversation were written from, see `WireRequest`. */
  readonly elementFields?: readonly (string | undefined)[] | undefined;
  /** The body as text, or the object that reports the failure inside a stream or a body. */
  readonly body: string | object;
  /** Masks the keys of the request in the message. Absent: there are none in it. */
  readonly withoutKeys?: CallFacts["withoutKeys"] | undefined;
  /** Undefined if there is no status, as inside a stream. */
  readonly httpStatusCode?: number | undefined;
  readonly requestId?: string | undefined;
  /** Whether the headers recommend a retry. */
  readonly retryable?: boolean | undefined;
  /** Seconds to wait according to the headers. */
  readonly retryAfter?: number | undefined;
}

/**
 * Creates the error of a failure that a provider reported: `openai answered 429 (rate_limit_exceeded): Rate limit
 * reached`.
 */
export function createProviderError(failure: ReportedFailure, source: FailureSource): SDKError {
  // The request's keys are masked before texts that only look like keys, since a partly masked key would no longer be
  // recognized.
  const text = source.withoutKeys?.(failure.message) ?? failure.message;
  const { classifiable, repeatable } = readMessage(text, source.request);
  const kind = failure.getKind(classifiable);
  const isQuota = kind === ErrorKind.QUOTA_EXCEEDED;
  const delay = source.retryAfter ?? failure.retryAfter ?? findRetryDelay(kind, classifiable);
  const { provider, httpStatusCode, requestId } = source;
  return createError(kind, toErrorMessage(failure, repeatable, source), {
    provider,
    httpStatusCode,
    requestId: requestId === undefined ? undefined : boundedId(requestId),
    // Waiting does not restore a quota that is used up.
    retryAfter: isQuota ? undefined : delay,
    retryable: isQuota ? false : source.retryable,
    errorCode: toShownCode(failure) || undefined,
    violations: toViolations(failure, kind, repeatable, source),
    rawJson: keepsBody(kind, source.request) ? boundedRaw(toBodyText(source.body)) : undefined,
  });
}

function toViolations(
  { field = "", fieldNames = [] }: ReportedFailure,
  kind: ErrorKind,
  message: string,
  { provider, request, elementFields }: FailureSource,
): readonly FieldViolation[] {
  const path = toContractField(field, fieldNames, { kind, options: provider, request, elementFields });
  return path === undefined ? [] : [{ field: path, description: message || "the provider rejected it" }];
}

const MAX_CODE_CHARS = 128;

/** Only messages of these kinds of failures name a delay before a retry; in others, a delay means something else. */
function findRetryDelay(kind: ErrorKind, message: string): number | undefined {
  return kind === ErrorKind.RATE_LIMIT || kind === ErrorKind.SERVER
    ? findRetryDelayInText(message)
    : undefined;
}

/**
 * Reports whether the error holds the body. The body of a rejected tool call has the model's output, which the caller
 * needs to continue.
 */
function keepsBody(kind: ErrorKind, { includeRaw }: Request): boolean {
  return includeRaw || kind === ErrorKind.INVALID_TOOL_CALL;
}

function toBodyText(body: string | object): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

function toShownCode({ code }: ReportedFailure): string {
  return code.slice(0, MAX_CODE_CHARS).toWellFormed();
}

function toErrorMessage(failure: ReportedFailure, message: string, source: FailureSource): string {
  const { hint = "" } = failure;
  const code = toShownCode(failure);
  const { provider, httpStatusCode } = source;
  const status = httpStatusCode === undefined ? "reported a failure" : `answered ${httpStatusCode}`;
  const shownCode = code === "" ? "" : ` (${code})`;
  const texts = [message, hint].filter(Boolean).join("; ");
  return `${provider} ${status}${shownCode}${texts === "" ? "" : `: ${texts}`}`;
}
