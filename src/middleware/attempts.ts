/** Records the attempts that a middleware made to get an answer. */
import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { CallOptions, CallTarget } from "../core/adapter.ts";
import type { SDKError } from "../core/errors.ts";
import { type Attempt, AttemptSchema } from "../gen/outrigger/v1/attempt_pb.ts";
import type { InferenceError } from "../gen/outrigger/v1/error_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";

/**
 * Maximum number of attempts that a response lists: the latest ones. Retries of all providers in a long chain may make
 * more.
 */
export const MAX_ATTEMPTS = 32;

/** Longest message of an attempt's error, in UTF-16 code units: more is of no use in logs and traces. */
const MAX_MESSAGE_LENGTH = 256;

const attemptsByError = new WeakMap<SDKError, readonly Attempt[]>();

/**
 * Returns the attempts that failed before this error was thrown, with the failed attempt itself as the last one. Empty
 * if no middleware that repeats calls has seen the error.
 */
export function attemptsOf(error: SDKError): readonly Attempt[] {
  return attemptsByError.get(error) ?? [];
}

/** Records the attempts that `attemptsOf` returns for an error. */
export function noteAttempts(error: SDKError, attempts: readonly Attempt[]): void {
  attemptsByError.set(error, attempts.slice(-MAX_ATTEMPTS));
}

/** Returns the attempts that failed before an error was thrown, or else the failed attempt itself. */
export function attemptsUntil(
  error: SDKError,
  target: CallTarget,
  options: CallOptions,
  start: AttemptStart,
): readonly Attempt[] {
  const known = attemptsOf(error);
  return known.length > 0 ? known : [failedAttempt(target, options, start, error)];
}

/** Returns the response with the attempts that failed before it. */
export function withAttempts(response: Response, failed: readonly Attempt[]): Response {
  if (failed.length === 0) return response;
  return { ...response, attempts: [...failed, ...response.attempts].slice(-MAX_ATTEMPTS) };
}

/** The start time of an attempt. */
export interface AttemptStart {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: number;
}

/** Records the start of an attempt. */
export function startAttempt(): AttemptStart {
  return { at: Date.now(), monotonic: performance.now() };
}

/** Creates the record of an attempt that ends now. */
export function endedAttempt(
  { provider, model }: CallTarget,
  { inferenceId = "" }: CallOptions,
  start: AttemptStart,
): Attempt {
  return create(AttemptSchema, {
    provider,
    model,
    inferenceId,
    startedAt: timestampFromMs(start.at),
    elapsed: durationFromMs(Math.max(0, Math.round(performance.now() - start.monotonic))),
  });
}

/** Creates the record of an attempt that fails now. */
export function failedAttempt(
  target: CallTarget,
  options: CallOptions,
  start: AttemptStart,
  error: SDKError,
): Attempt {
  const attempt = endedAttempt(target, options, start);
  attempt.error = recordedError(error.toProto());
  return attempt;
}

/**
 * Returns an error in the form for attempts: bounded, without raw JSON, and without the failures before it, which are
 * listed separately.
 */
function recordedError(error: InferenceError): InferenceError {
  error.cause = undefined;
  error.message = error.message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed();
  if (error.usage !== undefined) error.usage = { ...error.usage, rawJson: "" };
  if (error.providerFailure !== undefined) error.providerFailure.rawJson = "";
  return error;
}
