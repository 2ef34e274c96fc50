/** The details of a failed call's status, bounded so that they fit into the trailers that clients accept. */
import {
  create,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { AuthenticationError, type FieldViolation, ProviderError, type SDKError } from "../../core/errors.ts";
import { boundedText } from "../../core/text.ts";
import {
  type BadRequest_FieldViolation,
  BadRequest_FieldViolationSchema,
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.ts";
import { AttemptSchema } from "../../gen/outrigger/v1/attempt_pb.ts";
import {
  ErrorKind,
  type InferenceError,
  InferenceErrorSchema,
  type NoObject,
} from "../../gen/outrigger/v1/error_pb.ts";
import {
  FailedGenerationSchema,
  type StepResult,
  StepResultSchema,
} from "../../gen/outrigger/v1/generation_pb.ts";
import { attemptsOf } from "../../middleware/attempts.ts";
import { kindName } from "./status-code.ts";

/** Largest `google.rpc.Status`, in bytes. Many clients accept 8 KiB of trailers; base64 adds a third. */
export const MAX_STATUS_BYTES = 4096;

/** A message in the details of a status. */
export interface StatusDetail {
  readonly desc: DescMessage;
  readonly value: MessageInitShape<DescMessage>;
}

/** Facts about a call that its error contains. */
export interface ErrorFacts {
  /** Requested model. */
  readonly model?: string | undefined;
}

/** Returns the message of a failure for clients. Messages of internal errors are not shown. */
export function publicMessage(error: SDKError): string {
  return error.kind === ErrorKind.INTERNAL ? INTERNAL_MESSAGE : boundedText(error.message, MAX_MESSAGE_BYTES);
}

/** Returns the error for events and details: like `toProto()`, bounded, and without the messages of internal errors. */
function publicError(error: SDKError): InferenceError {
  return boundedError(error.toProto(), MAX_MESSAGE_BYTES, MAX_CAUSES);
}

/** Returns the seconds to wait before a retry; undefined if no delay is known or no retry helps. */
export function getRetryDelay(error: SDKError): number | undefined {
  const { kind, retryable, retryAfter } = error;
  if (!retryable || kind === ErrorKind.QUOTA_EXCEEDED) return undefined;
  return retryAfter !== undefined && retryAfter >= 0 ? retryAfter : undefined;
}

/**
 * Returns the details of a failure, InferenceError first. Together with the status message they stay under
 * MAX_STATUS_BYTES: the cause, the provider's body and the last field violations are omitted if they do not fit.
 */
export function toDetails(error: SDKError, facts: ErrorFacts = {}): StatusDetail[] {
  const full = publicError(error);
  const inference = withoutExtras(full);
  const details = [
    detail(InferenceErrorSchema, inference),
    detail(ErrorInfoSchema, toErrorInfo(error, facts)),
  ];
  const delay = getRetryDelay(error);
  if (delay !== undefined)
    details.push(detail(RetryInfoSchema, { retryDelay: durationFromMs(Math.ceil(delay * 1000)) }));
  let remainingBytes = MAX_STATUS_BYTES - Buffer.byteLength(publicMessage(error)) - getSize(details);
  const fieldViolations = violationsWithin(remainingBytes, error.violations);
  if (fieldViolations.length > 0) {
    const badRequest = detail(BadRequestSchema, { fieldViolations });
    details.push(badRequest);
    remainingBytes -= getSize([badRequest]);
  }
  addExtras(inference, full, remainingBytes);
  remainingBytes = MAX_STATUS_BYTES - Buffer.byteLength(publicMessage(error)) - getSize(details);
  const progress = progressWithin(remainingBytes, error);
  if (progress !== undefined) details.push(detail(FailedGenerationSchema, progress));
  return details;
}

const INTERNAL_MESSAGE = "internal error";
const MAX_MESSAGE_BYTES = 640;
const MAX_CAUSE_BYTES = 256;
const MAX_CAUSES = 2;
const MAX_WORD_BYTES = 128;
const MAX_VIOLATION_BYTES = 320;
// Limits of `NoObject`; its comments in the contract have the same numbers.
const MAX_NO_OBJECT_TEXT_BYTES = 1536;
const MAX_NO_OBJECT_VIOLATIONS = 20;
const MAX_VIOLATIONS_BYTES = 768;
// Type URL, tags and lengths of one detail inside its Any and Status.
const DETAIL_OVERHEAD = 64;

function detail<Desc extends DescMessage>(desc: Desc, init: MessageInitShape<Desc>): StatusDetail {
  return { desc, value: create(desc, init) };
}

function getSize(details: readonly StatusDetail[]): number {
  return details.reduce(
    (sum, { desc, value }) => sum + DETAIL_OVERHEAD + toBinary(desc, create(desc, value)).byteLength,
    0,
  );
}

function toErrorInfo(error: SDKError, facts: ErrorFacts): MessageInitShape<typeof ErrorInfoSchema> {
  const metadata: Record<string, string> = {};
  const add = (name: string, value: string | number | undefined) => {
    if (value !== undefined && value !== "") metadata[name] = boundedText(String(value), MAX_WORD_BYTES);
  };
  add("model", facts.model);
  if (error instanceof ProviderError) {
    add("provider", error.provider);
    add("http_status", error.httpStatusCode);
    add("request_id", error.requestId);
  }
  return { reason: getReason(error), domain: "outrigger", metadata };
}

/**
 * Returns the kind of the error, except for a provider that refused Outrigger's key, because the caller's access key is
 * valid.
 */
function getReason(error: SDKError): string {
  const isProviderKey = error instanceof AuthenticationError && !error.isAccessKey;
  return isProviderKey ? "PROVIDER_KEY_REFUSED" : kindName(error.kind);
}

function boundedError(error: InferenceError, maxMessageBytes: number, causes: number): InferenceError {
  const internal = error.kind === ErrorKind.INTERNAL;
  const bounded = create(InferenceErrorSchema, {
    ...error,
    message: internal ? INTERNAL_MESSAGE : boundedText(error.message, maxMessageBytes),
  });
  delete bounded.cause;
  if (error.cause !== undefined && !internal && causes > 0) {
    bounded.cause = boundedError(error.cause, MAX_CAUSE_BYTES, causes - 1);
  }
  if (error.usage !== undefined) bounded.usage = { ...error.usage, rawJson: "" };
  if (error.providerFailure !== undefined) bounded.providerFailure = boundedFailure(error.providerFailure);
  if (error.noObject !== undefined) bounded.noObject = boundedNoObject(error.noObject);
  return bounded;
}

function boundedNoObject({ text, violations, ...rest }: NoObject): NoObject {
  let left = MAX_VIOLATIONS_BYTES;
  const shortened = violations
    .slice(0, MAX_NO_OBJECT_VIOLATIONS)
    .map((violation) => boundedText(violation, MAX_VIOLATION_BYTES));
  const fitting = shortened.filter((violation) => {
    left -= Buffer.byteLength(violation);
    return left >= 0;
  });
  return { ...rest, text: boundedText(text, MAX_NO_OBJECT_TEXT_BYTES), violations: fitting };
}

function boundedFailure(failure: NonNullable<InferenceError["providerFailure"]>): typeof failure {
  return {
    ...failure,
    provider: boundedText(failure.provider, MAX_WORD_BYTES),
    errorCode: boundedText(failure.errorCode, MAX_WORD_BYTES),
    requestId: boundedText(failure.requestId, MAX_WORD_BYTES),
    rawJson: failure.rawJson.toWellFormed(),
  };
}

function withoutExtras(error: InferenceError): InferenceError {
  const bare = { ...error };
  delete bare.cause;
  delete bare.noObject;
  if (bare.providerFailure !== undefined) bare.providerFailure = { ...bare.providerFailure, rawJson: "" };
  return bare;
}

/**
 * Adds the object that was not generated, the cause and the body if they fit. A truncated body would not be JSON, so it
 * is added whole or not at all.
 */
function addExtras(bare: InferenceError, full: InferenceError, remainingBytes: number): void {
  const before = getErrorSize(bare);
  for (const name of ["noObject", "cause", "providerFailure"] as const) {
    const kept = bare[name];
    Object.assign(bare, { [name]: full[name] });
    if (getErrorSize(bare) - before > remainingBytes) Object.assign(bare, { [name]: kept });
  }
}

/** Returns the complete steps of a failed generation, as many as fit, without the bodies of providers. */
function progressWithin(
  remainingBytes: number,
  error: SDKError,
): MessageInitShape<typeof FailedGenerationSchema> | undefined {
  const messages = error.steps.map((step) => step.toProto());
  // The count needs a tag and a number.
  const bytes = remainingBytes - DETAIL_OVERHEAD - 8;
  if (messages.length === 0 || bytes < 0) return undefined;
  const [steps, left] = takeFitting(StepResultSchema, messages.map(withoutBodies), bytes);
  const [attempts] = takeFitting(AttemptSchema, attemptsOf(error).toReversed(), left);
  return { steps, stepCount: messages.length, attempts: attempts.toReversed() };
}

/** Returns the first messages that fit into some bytes, and the bytes that are left. */
function takeFitting<Desc extends DescMessage>(
  desc: Desc,
  messages: Iterable<MessageShape<Desc>>,
  bytes: number,
): [fitting: MessageShape<Desc>[], left: number] {
  const fitting: MessageShape<Desc>[] = [];
  let left = bytes;
  for (const message of messages) {
    const size = toBinary(desc, message).byteLength + 4;
    if (size > left) break;
    left -= size;
    fitting.push(message);
  }
  return [fitting, left];
}

function withoutBodies(step: StepResult): StepResult {
  const { response } = step;
  if (response === undefined) return step;
  const usage = response.usage && { ...response.usage, rawJson: "" };
  return { ...step, response: { ...response, rawJson: "", ...(usage === undefined ? {} : { usage }) } };
}

function getErrorSize(error: InferenceError): number {
  return toBinary(InferenceErrorSchema, error).byteLength;
}

function violationsWithin(
  remainingBytes: number,
  violations: readonly FieldViolation[],
): BadRequest_FieldViolation[] {
  const messages = toMessages(violations);
  return takeFitting(BadRequest_FieldViolationSchema, messages, remainingBytes - DETAIL_OVERHEAD)[0];
}

function* toMessages(violations: readonly FieldViolation[]): Generator<BadRequest_FieldViolation> {
  for (const { field, description } of violations)
    yield create(BadRequest_FieldViolationSchema, {
      field: boundedText(field, MAX_WORD_BYTES),
      description: boundedText(description, MAX_VIOLATION_BYTES),
    });
}
