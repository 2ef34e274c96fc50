/**
 * The errors of Outrigger: one class for each `ErrorKind` of the contract, and their conversion from and to the wire.
 */
import { create, type JsonObject, type JsonValue, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import {
  ErrorKind,
  ErrorKindSchema,
  type InferenceError,
  InferenceErrorSchema,
  NoObjectSchema,
  ProviderFailureSchema,
} from "../gen/outrigger/v1/error_pb.ts";
import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import type { Message, ToolCall, ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../gen/outrigger/v1/usage_pb.ts";
import { addUsages } from "./usage.ts";

/** An invalid field of a request. */
export interface FieldViolation {
  /** Path with proto field names, for instance `messages[2].content[0].image.url`. */
  readonly field: string;
  /** The value that was found and what was expected. Holds no prompt text. */
  readonly description: string;
}

/** A complete step of a generation in which a later step failed. In the library it is a `StepResult`. */
export interface CompletedStep {
  /** The text of the model's answer. */
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly toolResults: readonly ToolResult[];
  readonly response: Response;
  /** The messages that the step adds to the conversation: the model's answer and the results of its tools. */
  readonly messages: readonly Message[];
  /** Returns the step as a message of the contract. */
  toProto(): StepResult;
}

/** Options of every error. */
export interface ErrorOptions {
  readonly cause?: unknown;
  /** Overrides the kind's default. */
  readonly retryable?: boolean | undefined;
  /** Seconds to wait before a retry; fractions allowed. */
  readonly retryAfter?: number | undefined;
  /** Whether the model had begun to produce output. */
  readonly outputStarted?: boolean;
  /** Tokens that the call had used. */
  readonly usage?: Usage | undefined;
  /** Invalid fields of the request, for kinds that mean an invalid request. */
  readonly violations?: readonly FieldViolation[];
  /** Steps of the generation that were complete. */
  readonly steps?: readonly CompletedStep[] | undefined;
}

/** Options of an error of a provider. */
export interface ProviderErrorOptions extends ErrorOptions {
  /** Name of the provider; empty if Outrigger itself rejected the call. */
  readonly provider?: string;
  readonly httpStatusCode?: number | undefined;
  readonly errorCode?: string | undefined;
  readonly requestId?: string | undefined;
  /** The provider's body. Only if `include_raw` asked for it. */
  readonly rawJson?: string | undefined;
}

/** Kinds for which a retry of the same request is futile. */
const NOT_RETRYABLE: ReadonlySet<ErrorKind> = new Set([
  ErrorKind.AUTHENTICATION,
  ErrorKind.ACCESS_DENIED,
  ErrorKind.NOT_FOUND,
  ErrorKind.INVALID_REQUEST,
  ErrorKind.CONTENT_FILTER,
  ErrorKind.CONTEXT_LENGTH,
  ErrorKind.QUOTA_EXCEEDED,
  ErrorKind.ABORT,
  ErrorKind.INVALID_TOOL_CALL,
  ErrorKind.NO_OBJECT_GENERATED,
  ErrorKind.CONFIGURATION,
  ErrorKind.UNSUPPORTED_TOOL_CHOICE,
  ErrorKind.INTERNAL,
]);

/** Returns the default of `retryable` for a kind. Unknown kinds are retryable. */
export function isRetryableKind(kind: ErrorKind): boolean {
  return !NOT_RETRYABLE.has(kind);
}

/** Kept outside the errors, so that a logged error does not show the model's output. */
const completedSteps = new WeakMap<SDKError, readonly CompletedStep[]>();

/** Base of all errors that Outrigger throws. */
export class SDKError extends Error {
  /** Kind on the wire; decides the RPC status. */
  readonly kind: ErrorKind;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** Seconds to wait before a retry. */
  readonly retryAfter: number | undefined;
  /** Whether the model had begun to produce output. */
  readonly outputStarted: boolean;
  /** Tokens that the call had used before it failed. */
  readonly usage: Usage | undefined;
  /** Invalid fields of the request. */
  readonly violations: readonly FieldViolation[];

  constructor(kind: ErrorKind, message: string, options: ErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
    this.kind = kind;
    this.retryable = options.retryable ?? isRetryableKind(kind);
    this.retryAfter = options.retryAfter;
    this.outputStarted = options.outputStarted ?? false;
    this.usage = options.usage;
    this.violations = options.violations ?? [];
    if (options.steps !== undefined && options.steps.length > 0) completedSteps.set(this, options.steps);
  }

  /** The steps of a generation that were complete when a later one failed. Empty for other failures. */
  get steps(): readonly CompletedStep[] {
    return completedSteps.get(this) ?? [];
  }

  /**
   * The messages that those steps add to the conversation. Append them to continue without executing the tools again.
   */
  get messages(): readonly Message[] {
    return this.steps.flatMap(({ messages }) => messages);
  }

  /** Name of the kind, as in the `reason` of a status: `RATE_LIMIT`. An unknown kind gives its number. */
  get kindName(): string {
    return ErrorKindSchema.value[this.kind]?.localName ?? `KIND_${this.kind}`;
  }

  /**
   * Returns the form for `JSON.stringify`, for instance in a log: the contract's JSON form without the model's text,
   * and the class in `name`.
   */
  toJSON(): JsonObject {
    const { noObject: _, ...error } = this.toProto();
    const fields = toJson(InferenceErrorSchema, error);
    return { name: this.name, ...(isObject(fields) ? fields : {}) };
  }

  /** Returns the error in the form of status details and `error` events. */
  toProto(): InferenceError {
    const error = create(InferenceErrorSchema, {
      kind: this.kind,
      message: this.message,
      retryable: this.retryable,
      outputStarted: this.outputStarted,
    });
    if (this.retryAfter !== undefined && this.retryAfter >= 0 && this.retryAfter < Infinity) {
      error.retryAfter = toDuration(this.retryAfter);
    }
    if (this.usage !== undefined) error.usage = this.usage;
    if (this.cause instanceof SDKError) error.cause = this.cause.toProto();
    return error;
  }
}

/** A failure that a provider reported, or a request that a provider would reject. Kinds 100 to 199, and 204. */
export class ProviderError extends SDKError {
  /** Name of the provider; empty if Outrigger itself rejected the call. */
  readonly provider: string;
  /** HTTP status of the provider's answer. */
  readonly httpStatusCode: number | undefined;
  /** The provider's error code, for instance `insufficient_quota`. */
  readonly errorCode: string | undefined;
  /** The provider's request id. */
  readonly requestId: string | undefined;
  /** The provider's body, bounded. Only if it was requested. */
  readonly rawJson: string | undefined;

  constructor(message: string, options: ProviderErrorOptions = {}, kind: ErrorKind = ErrorKind.PROVIDER) {
    super(kind, message, options);
    this.provider = options.provider ?? "";
    this.httpStatusCode = options.httpStatusCode;
    this.errorCode = options.errorCode;
    this.requestId = options.requestId;
    this.rawJson = options.rawJson;
  }

  override toProto(): InferenceError {
    return withFailure(super.toProto(), this);
  }
}

/** Adds the details of a provider's failure, if a provider reported the error. */
function withFailure(error: InferenceError, said: ProviderErrorOptions): InferenceError {
  const { provider = "", httpStatusCode, errorCode = "", requestId = "", rawJson = "", violations } = said;
  if (provider === "") return error;
  const failure: MessageInitShape<typeof ProviderFailureSchema> = {
    provider,
    errorCode,
    requestId,
    rawJson,
    field: violations?.[0]?.field ?? "",
  };
  if (httpStatusCode !== undefined) failure.httpStatusCode = httpStatusCode;
  error.providerFailure = create(ProviderFailureSchema, failure);
  return error;
}

/** The options of all classes. Each class reads the ones that it knows. */
type AnyErrorOptions = ProviderErrorOptions & NoObjectErrorOptions;

type ErrorClass = new (message: string, options?: AnyErrorOptions) => SDKError;

/** Returns the base of a class for one kind that a provider may report. */
function createProviderErrorClass(kind: ErrorKind) {
  return class extends ProviderError {
    constructor(message: string, options?: ProviderErrorOptions) {
      super(message, options, kind);
    }
  };
}

/** Returns the base of a class for one kind from 200 up. */
function createErrorClass(kind: ErrorKind) {
  return class extends SDKError {
    constructor(message: string, options?: ErrorOptions) {
      super(kind, message, options);
    }
  };
}

/**
 * A key is missing, wrong or expired: the caller's access key for a sidecar, or the key that Outrigger has for a
 * provider.
 */
export class AuthenticationError extends createProviderErrorClass(ErrorKind.AUTHENTICATION) {
  /** Whether it is the caller's access key. Otherwise `provider` refused the key that Outrigger has for it. */
  get isAccessKey(): boolean {
    return this.provider === "";
  }
}

/** The API key is not allowed to do this. */
export class AccessDeniedError extends createProviderErrorClass(ErrorKind.ACCESS_DENIED) {}

/** No such model or endpoint. */
export class NotFoundError extends createProviderErrorClass(ErrorKind.NOT_FOUND) {}

/** The request is invalid. */
export class InvalidRequestError extends createProviderErrorClass(ErrorKind.INVALID_REQUEST) {}

/** Too many requests. */
export class RateLimitError extends createProviderErrorClass(ErrorKind.RATE_LIMIT) {}

/** The provider failed or is overloaded. */
export class ServerError extends createProviderErrorClass(ErrorKind.SERVER) {}

/** A safety filter blocked the call. */
export class ContentFilterError extends createProviderErrorClass(ErrorKind.CONTENT_FILTER) {}

/** The conversation is longer than the model's context window. */
export class ContextLengthError extends createProviderErrorClass(ErrorKind.CONTEXT_LENGTH) {}

/** The account's credit or quota is used up. */
export class QuotaExceededError extends createProviderErrorClass(ErrorKind.QUOTA_EXCEEDED) {}

/** A time limit ran out: the call's, or the provider's, which `provider` then names. */
export class RequestTimeoutError extends SDKError {
  /** Name of the provider whose time limit ran out; empty for a limit of the call. */
  readonly provider: string;
  /** HTTP status of the provider's answer. */
  readonly httpStatusCode: number | undefined;
  /** The provider's error code. */
  readonly errorCode: string | undefined;
  /** The provider's request id. */
  readonly requestId: string | undefined;
  /** The provider's body, bounded. Only if it was requested. */
  readonly rawJson: string | undefined;

  constructor(message: string, options: ProviderErrorOptions = {}) {
    super(ErrorKind.REQUEST_TIMEOUT, message, options);
    this.provider = options.provider ?? "";
    this.httpStatusCode = options.httpStatusCode;
    this.errorCode = options.errorCode;
    this.requestId = options.requestId;
    this.rawJson = options.rawJson;
  }

  override toProto(): InferenceError {
    return withFailure(super.toProto(), this);
  }
}

/** Reports whether an error means that a provider gave up on a call, as opposed to a time limit of the call. */
export function isProviderTimeout(error: unknown): boolean {
  return error instanceof RequestTimeoutError && error.provider !== "";
}

/** The caller cancelled or disconnected. */
export class AbortError extends createErrorClass(ErrorKind.ABORT) {}

/** The provider could not be reached, or the connection broke before it answered. */
export class NetworkError extends createErrorClass(ErrorKind.NETWORK) {}

/** The provider's stream ended without its end marker, or violated its protocol. */
export class StreamError extends createErrorClass(ErrorKind.STREAM) {}

/** A tool call does not match its schema. If a provider rejected it, `rawJson` has the model's output. */
export class InvalidToolCallError extends createProviderErrorClass(ErrorKind.INVALID_TOOL_CALL) {}

/** Options of NoObjectGeneratedError. */
export interface NoObjectErrorOptions extends ErrorOptions {
  /** The model's whole text. */
  readonly text?: string | undefined;
  /** The problems of the text, one sentence each. */
  readonly schemaViolations?: readonly string[] | undefined;
}

/** The answer is not the requested object: no JSON, or JSON that does not match the schema. */
export class NoObjectGeneratedError extends SDKError {
  /** The model's text. Over the wire at most its first 1.5 KiB. */
  readonly text: string;
  /** The problems of the text, one sentence each. */
  readonly schemaViolations: readonly string[];

  constructor(message: string, options: NoObjectErrorOptions = {}) {
    super(ErrorKind.NO_OBJECT_GENERATED, message, options);
    this.text = options.text ?? "";
    this.schemaViolations = options.schemaViolations ?? [];
  }

  override toProto(): InferenceError {
    const error = super.toProto();
    if (this.text === "" && this.schemaViolations.length === 0) return error;
    error.noObject = create(NoObjectSchema, { text: this.text, violations: [...this.schemaViolations] });
    return error;
  }
}

/** Outrigger is not configured for this call. */
export class ConfigurationError extends createErrorClass(ErrorKind.CONFIGURATION) {}

/** The provider or model does not support the requested tool choice. */
export class UnsupportedToolChoiceError extends createErrorClass(ErrorKind.UNSUPPORTED_TOOL_CHOICE) {}

/** A bug in Outrigger. */
export class InternalError extends createErrorClass(ErrorKind.INTERNAL) {}

const CLASSES: ReadonlyMap<ErrorKind, ErrorClass> = new Map<ErrorKind, ErrorClass>([
  [ErrorKind.PROVIDER, ProviderError],
  [ErrorKind.AUTHENTICATION, AuthenticationError],
  [ErrorKind.ACCESS_DENIED, AccessDeniedError],
  [ErrorKind.NOT_FOUND, NotFoundError],
  [ErrorKind.INVALID_REQUEST, InvalidRequestError],
  [ErrorKind.RATE_LIMIT, RateLimitError],
  [ErrorKind.SERVER, ServerError],
  [ErrorKind.CONTENT_FILTER, ContentFilterError],
  [ErrorKind.CONTEXT_LENGTH, ContextLengthError],
  [ErrorKind.QUOTA_EXCEEDED, QuotaExceededError],
  [ErrorKind.REQUEST_TIMEOUT, RequestTimeoutError],
  [ErrorKind.ABORT, AbortError],
  [ErrorKind.NETWORK, NetworkError],
  [ErrorKind.STREAM, StreamError],
  [ErrorKind.INVALID_TOOL_CALL, InvalidToolCallError],
  [ErrorKind.NO_OBJECT_GENERATED, NoObjectGeneratedError],
  [ErrorKind.CONFIGURATION, ConfigurationError],
  [ErrorKind.UNSUPPORTED_TOOL_CHOICE, UnsupportedToolChoiceError],
  [ErrorKind.INTERNAL, InternalError],
]);

/** Creates the error of a kind. An unknown kind below 200 becomes ProviderError, others SDKError. */
export function createError(kind: ErrorKind, message: string, options: AnyErrorOptions = {}): SDKError {
  const known = CLASSES.get(kind);
  if (known !== undefined) return new known(message, options);
  return kind < 200 ? new ProviderError(message, options) : new SDKError(kind, message, options);
}

/**
 * Converts an error that came over the wire into its class.
 * @param violations Invalid fields, which travel alongside the error. Default: the field that the provider named.
 */
export function errorFromProto(
  error: InferenceError,
  violations: readonly FieldViolation[] = refusedFields(error),
): SDKError {
  const failure = error.providerFailure;
  return createError(error.kind, error.message, {
    retryable: error.retryable,
    retryAfter: error.retryAfter === undefined ? undefined : toSeconds(error.retryAfter),
    outputStarted: error.outputStarted,
    usage: error.usage,
    provider: failure?.provider ?? "",
    httpStatusCode: failure?.httpStatusCode,
    errorCode: failure?.errorCode,
    requestId: failure?.requestId,
    rawJson: failure?.rawJson,
    text: error.noObject?.text,
    schemaViolations: error.noObject?.violations,
    violations,
    ...(error.cause === undefined ? {} : { cause: errorFromProto(error.cause) }),
  });
}

function refusedFields({ providerFailure, message }: InferenceError): readonly FieldViolation[] {
  const field = providerFailure?.field ?? "";
  return field === "" ? [] : [{ field, description: message }];
}

/** Returns the same error with the progress of its call, unless the error already has it. */
export function withProgress(
  error: SDKError,
  progress: { outputStarted: boolean; usage: Usage | undefined },
): SDKError {
  return createError(error.kind, error.message, {
    ...getErrorOptions(error),
    outputStarted: error.outputStarted || progress.outputStarted,
    usage: error.usage ?? progress.usage,
  });
}

/** Returns the same error for a call that followed other steps of a generation, with the usage of all steps. */
export function withEarlierSteps(
  error: SDKError,
  earlier: Usage | undefined,
  steps: readonly CompletedStep[],
): SDKError {
  const usage = addUsages(earlier, error.usage);
  return createError(error.kind, error.message, {
    ...getErrorOptions(error),
    outputStarted: true,
    usage,
    steps,
  });
}

/**
 * Returns the same error with an earlier one at the end of its chain of causes, behind the last cause of class
 * SDKError.
 */
export function withCause(error: SDKError, earlier: SDKError): SDKError {
  const cause = error.cause instanceof SDKError ? withCause(error.cause, earlier) : earlier;
  return createError(error.kind, error.message, { ...getErrorOptions(error), cause });
}

/** Returns the same error with another message and other invalid fields. */
export function withViolations(
  error: SDKError,
  message: string,
  violations: readonly FieldViolation[],
): SDKError {
  return createError(error.kind, message, { ...getErrorOptions(error), violations });
}

/** Returns the same error with another message. */
export function withMessage(error: SDKError, message: string): SDKError {
  return createError(error.kind, message, getErrorOptions(error));
}

/**
 * Adds the origin of the key if a provider refused the key: callers would suspect their access key otherwise.
 * @param origin The source of the key. If undefined, the error is returned unchanged.
 */
export function withKeyOrigin(error: SDKError, origin: string | undefined): SDKError {
  if (origin === undefined || !(error instanceof AuthenticationError) || error.isAccessKey) return error;
  const message = `the provider ${error.provider} refused the key that Outrigger has (${origin}): ${error.message}`;
  return createError(error.kind, message, getErrorOptions(error));
}

/** Returns the error with each of its texts changed, or the same error if nothing changes. */
export function withTexts(error: SDKError, change: (text: string) => string): SDKError {
  const options = getErrorOptions(error);
  const changed = (text: string | undefined) => (text === undefined ? undefined : change(text));
  const [errorCode, requestId, rawJson] = [options.errorCode, options.requestId, options.rawJson].map(
    changed,
  );
  const message = change(error.message);
  const isSame =
    message === error.message &&
    errorCode === options.errorCode &&
    requestId === options.requestId &&
    rawJson === options.rawJson;
  return isSame ? error : createError(error.kind, message, { ...options, errorCode, requestId, rawJson });
}

function getErrorOptions(error: SDKError): AnyErrorOptions {
  const isProviders = error instanceof ProviderError || error instanceof RequestTimeoutError;
  const provider: ProviderErrorOptions = isProviders ? error : {};
  const noObject: NoObjectErrorOptions = error instanceof NoObjectGeneratedError ? error : {};
  return {
    provider: provider.provider ?? "",
    httpStatusCode: provider.httpStatusCode,
    errorCode: provider.errorCode,
    requestId: provider.requestId,
    rawJson: provider.rawJson,
    text: noObject.text,
    schemaViolations: noObject.schemaViolations,
    retryable: error.retryable,
    retryAfter: error.retryAfter,
    outputStarted: error.outputStarted,
    usage: error.usage,
    violations: error.violations,
    steps: error.steps,
    ...("cause" in error ? { cause: error.cause } : {}),
  };
}

/**
 * Turns anything thrown into an SDKError; no other function does. Errors of Outrigger pass through, an abort becomes
 * AbortError, and anything else is a bug in Outrigger: its text stays in `cause` and never reaches a caller.
 */
export function toSdkError(thrown: unknown): SDKError {
  if (thrown instanceof SDKError) return thrown;
  if (thrown instanceof Error && thrown.name === "AbortError") {
    return new AbortError("the call was cancelled", { cause: thrown });
  }
  return new InternalError("internal error", { cause: thrown });
}

/** Creates the error for a request that is invalid in one field and rejected before anything is sent. */
export function invalidField(field: string, description: string): InvalidRequestError {
  return invalidFields([{ field, description }]);
}

/** Creates the error for a request that is invalid in one or more fields and rejected before anything is sent. */
export function invalidFields(violations: readonly FieldViolation[]): InvalidRequestError {
  const text = violations.map((violation) => `${violation.field}: ${violation.description}`).join("; ");
  return new InvalidRequestError(text, { violations });
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toDuration(seconds: number): Duration {
  const nanos = BigInt(Math.round(seconds * 1e9));
  return create(DurationSchema, { seconds: nanos / 1_000_000_000n, nanos: Number(nanos % 1_000_000_000n) });
}

function toSeconds(duration: Duration): number {
  return Number(duration.seconds) + duration.nanos / 1e9;
}
