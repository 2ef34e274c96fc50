/**
 * The errors of Outrigger: one class per `ErrorKind` of the contract, in the tree of the
 * specification §6.1, and the two doors between them and the wire.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import {
  ErrorKind,
  type InferenceError,
  InferenceErrorSchema,
  ProviderFailureSchema,
} from "../gen/outrigger/v1/error_pb.ts";
import type { Usage } from "../gen/outrigger/v1/usage_pb.ts";

/** A field of the request that is wrong: its path in proto names, and what was expected. */
export interface FieldViolation {
  /** Path with proto field names, for instance `messages[2].content[0].image.url`. */
  readonly field: string;
  /** What was found and what was expected. Holds no prompt text. */
  readonly description: string;
}

/** What every error can be told beside its message. */
export interface ErrorOptions {
  readonly cause?: unknown;
  /** Overrides the kind's default. */
  readonly retryable?: boolean | undefined;
  /** Seconds to wait before a retry; fractions allowed. */
  readonly retryAfter?: number | undefined;
  /** Whether the model had begun to write. */
  readonly outputStarted?: boolean;
  /** Tokens that the call had cost. */
  readonly usage?: Usage | undefined;
  /** Wrong fields of the request, for kinds that mean a wrong request. */
  readonly violations?: readonly FieldViolation[];
}

/** What a provider said about its failure. */
export interface ProviderErrorOptions extends ErrorOptions {
  /** Name of the provider; empty where Outrigger itself turned the call away. */
  readonly provider?: string;
  readonly httpStatusCode?: number | undefined;
  readonly errorCode?: string | undefined;
  readonly requestId?: string | undefined;
  /** The provider's body. Only where `include_raw` asked for it. */
  readonly rawJson?: string | undefined;
}

/** Base of all errors that Outrigger throws. */
export class SDKError extends Error {
  /** Kind on the wire; decides the RPC status. */
  readonly kind: ErrorKind;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** Seconds to wait before a retry. */
  readonly retryAfter: number | undefined;
  /** Whether the model had begun to write. */
  readonly outputStarted: boolean;
  /** Tokens that the call had cost before it failed. */
  readonly usage: Usage | undefined;
  /** Wrong fields of the request. */
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
  }

  /** The error as it travels in status details and `error` events. */
  toProto(): InferenceError {
    const error = create(InferenceErrorSchema, {
      kind: this.kind,
      message: this.message,
      retryable: this.retryable,
      outputStarted: this.outputStarted,
    });
    if (this.retryAfter !== undefined && this.retryAfter >= 0 && this.retryAfter < Infinity) {
      error.retryAfter = durationOf(this.retryAfter);
    }
    if (this.usage !== undefined) error.usage = this.usage;
    if (this.cause instanceof SDKError) error.cause = this.cause.toProto();
    return error;
  }
}

/** A failure of a provider, or of a request as a provider would judge it. Kinds 100 to 199. */
export class ProviderError extends SDKError {
  /** Name of the provider; empty where Outrigger itself turned the call away. */
  readonly provider: string;
  /** HTTP status of the provider's answer. */
  readonly httpStatusCode: number | undefined;
  /** The provider's own code, for instance `insufficient_quota`. */
  readonly errorCode: string | undefined;
  /** The provider's id of the HTTP exchange. */
  readonly requestId: string | undefined;
  /** The provider's body, bounded; only where it was asked for. */
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
    const error = super.toProto();
    if (this.provider === "") return error;
    const failure: MessageInitShape<typeof ProviderFailureSchema> = {
      provider: this.provider,
      errorCode: this.errorCode ?? "",
      requestId: this.requestId ?? "",
      rawJson: this.rawJson ?? "",
    };
    if (this.httpStatusCode !== undefined) failure.httpStatusCode = this.httpStatusCode;
    error.providerFailure = create(ProviderFailureSchema, failure);
    return error;
  }
}

/** The key is missing, wrong or expired. */
export class AuthenticationError extends ProviderError {
  constructor(message: string, options?: ProviderErrorOptions) {
    super(message, options, ErrorKind.AUTHENTICATION);
  }
}

/** The key may not do this. */
export class AccessDeniedError extends ProviderError {
  constructor(message: string, options?: ProviderErrorOptions) {
    super(message, options, ErrorKind.ACCESS_DENIED);
  }
}

/** No such model or endpoint. */
export class NotFoundError extends ProviderError {
  constructor(message: string, options?: ProviderErrorOptions) {
    super(message, options, ErrorKind.NOT_FOUND);
  }
}

/** The request is wrong. */
export class InvalidRequestError extends ProviderError {
  constructor(message: string, options?: ProviderErrorOptions) {
    super(message, options, ErrorKind.INVALID_REQUEST);
  }
}

/** Too many requests. */
export class RateLimitError extends ProviderError {
  constructor(message: string, options?: ProviderErrorOptions) {
    super(message, options, ErrorKind.RATE_LIMIT);
  }
}

/** The provider broke or is overloaded. */
export class ServerError extends ProviderError {
  constructor(message: string, options?: ProviderErrorOptions) {
    super(message, options, ErrorKind.SERVER);
  }
}

/** A safety filter blocked the call. */
export class ContentFilterError extends ProviderError {
  constructor(message: string, options?: ProviderErrorOptions) {
    super(message, options, ErrorKind.CONTENT_FILTER);
  }
}

/** The conversation is longer than the model takes. */
export class ContextLengthError extends ProviderError {
  constructor(message: string, options?: ProviderErrorOptions) {
    super(message, options, ErrorKind.CONTEXT_LENGTH);
  }
}

/** The account's money or quota is used up. */
export class QuotaExceededError extends ProviderError {
  constructor(message: string, options?: ProviderErrorOptions) {
    super(message, options, ErrorKind.QUOTA_EXCEEDED);
  }
}

/** A time limit ran out. */
export class RequestTimeoutError extends SDKError {
  constructor(message: string, options?: ErrorOptions) {
    super(ErrorKind.REQUEST_TIMEOUT, message, options);
  }
}

/** The caller left. */
export class AbortError extends SDKError {
  constructor(message: string, options?: ErrorOptions) {
    super(ErrorKind.ABORT, message, options);
  }
}

/** The provider could not be reached, or the connection broke before it answered. */
export class NetworkError extends SDKError {
  constructor(message: string, options?: ErrorOptions) {
    super(ErrorKind.NETWORK, message, options);
  }
}

/** The provider's stream broke without a word, or holds what its protocol does not allow. */
export class StreamError extends SDKError {
  constructor(message: string, options?: ErrorOptions) {
    super(ErrorKind.STREAM, message, options);
  }
}

/** A tool call does not fit its schema. */
export class InvalidToolCallError extends SDKError {
  constructor(message: string, options?: ErrorOptions) {
    super(ErrorKind.INVALID_TOOL_CALL, message, options);
  }
}

/** The answer does not fit the schema that was asked for. */
export class NoObjectGeneratedError extends SDKError {
  constructor(message: string, options?: ErrorOptions) {
    super(ErrorKind.NO_OBJECT_GENERATED, message, options);
  }
}

/** Outrigger is not configured for this call. */
export class ConfigurationError extends SDKError {
  constructor(message: string, options?: ErrorOptions) {
    super(ErrorKind.CONFIGURATION, message, options);
  }
}

/** The provider or model has no such tool choice. */
export class UnsupportedToolChoiceError extends SDKError {
  constructor(message: string, options?: ErrorOptions) {
    super(ErrorKind.UNSUPPORTED_TOOL_CHOICE, message, options);
  }
}

/** A bug of ours. */
export class InternalError extends SDKError {
  constructor(message: string, options?: ErrorOptions) {
    super(ErrorKind.INTERNAL, message, options);
  }
}

/**
 * The default of `retryable` by kind: the table of specification §6.3, where what is unknown
 * is retryable.
 */
export function isRetryableKind(kind: ErrorKind): boolean {
  switch (kind) {
    case ErrorKind.AUTHENTICATION:
    case ErrorKind.ACCESS_DENIED:
    case ErrorKind.NOT_FOUND:
    case ErrorKind.INVALID_REQUEST:
    case ErrorKind.CONTENT_FILTER:
    case ErrorKind.CONTEXT_LENGTH:
    case ErrorKind.QUOTA_EXCEEDED:
    case ErrorKind.ABORT:
    case ErrorKind.INVALID_TOOL_CALL:
    case ErrorKind.NO_OBJECT_GENERATED:
    case ErrorKind.CONFIGURATION:
    case ErrorKind.UNSUPPORTED_TOOL_CHOICE:
    case ErrorKind.INTERNAL:
      return false;
    default:
      return true;
  }
}

/** Makes the error class of a kind between 100 and 199. An unknown kind becomes ProviderError. */
export function providerErrorOf(
  kind: ErrorKind,
  message: string,
  options: ProviderErrorOptions,
): ProviderError {
  switch (kind) {
    case ErrorKind.AUTHENTICATION:
      return new AuthenticationError(message, options);
    case ErrorKind.ACCESS_DENIED:
      return new AccessDeniedError(message, options);
    case ErrorKind.NOT_FOUND:
      return new NotFoundError(message, options);
    case ErrorKind.INVALID_REQUEST:
      return new InvalidRequestError(message, options);
    case ErrorKind.RATE_LIMIT:
      return new RateLimitError(message, options);
    case ErrorKind.SERVER:
      return new ServerError(message, options);
    case ErrorKind.CONTENT_FILTER:
      return new ContentFilterError(message, options);
    case ErrorKind.CONTEXT_LENGTH:
      return new ContextLengthError(message, options);
    case ErrorKind.QUOTA_EXCEEDED:
      return new QuotaExceededError(message, options);
    default:
      return new ProviderError(message, options);
  }
}

/** Makes the error class of any kind. An unknown kind below 200 becomes ProviderError, others SDKError. */
export function errorOf(kind: ErrorKind, message: string, options: ProviderErrorOptions = {}): SDKError {
  switch (kind) {
    case ErrorKind.REQUEST_TIMEOUT:
      return new RequestTimeoutError(message, options);
    case ErrorKind.ABORT:
      return new AbortError(message, options);
    case ErrorKind.NETWORK:
      return new NetworkError(message, options);
    case ErrorKind.STREAM:
      return new StreamError(message, options);
    case ErrorKind.INVALID_TOOL_CALL:
      return new InvalidToolCallError(message, options);
    case ErrorKind.NO_OBJECT_GENERATED:
      return new NoObjectGeneratedError(message, options);
    case ErrorKind.CONFIGURATION:
      return new ConfigurationError(message, options);
    case ErrorKind.UNSUPPORTED_TOOL_CHOICE:
      return new UnsupportedToolChoiceError(message, options);
    case ErrorKind.INTERNAL:
      return new InternalError(message, options);
    default:
      return kind < 200 ? providerErrorOf(kind, message, options) : new SDKError(kind, message, options);
  }
}

/** The class for an error that came over the wire. */
export function errorFromProto(error: InferenceError): SDKError {
  const failure = error.providerFailure;
  return errorOf(error.kind, error.message, {
    retryable: error.retryable,
    retryAfter: error.retryAfter === undefined ? undefined : secondsOf(error.retryAfter),
    outputStarted: error.outputStarted,
    usage: error.usage,
    provider: failure?.provider ?? "",
    httpStatusCode: failure?.httpStatusCode,
    errorCode: failure?.errorCode,
    requestId: failure?.requestId,
    rawJson: failure?.rawJson,
    ...(error.cause === undefined ? {} : { cause: errorFromProto(error.cause) }),
  });
}

/** The same error, told how far the call had come. What the error itself knows stands. */
export function withProgress(
  error: SDKError,
  progress: { outputStarted: boolean; usage: Usage | undefined },
): SDKError {
  const provider: ProviderErrorOptions = error instanceof ProviderError ? error : {};
  return errorOf(error.kind, error.message, {
    provider: provider.provider ?? "",
    httpStatusCode: provider.httpStatusCode,
    errorCode: provider.errorCode,
    requestId: provider.requestId,
    rawJson: provider.rawJson,
    retryable: error.retryable,
    retryAfter: error.retryAfter,
    outputStarted: error.outputStarted || progress.outputStarted,
    usage: error.usage ?? progress.usage,
    violations: error.violations,
    ...("cause" in error ? { cause: error.cause } : {}),
  });
}

/**
 * The one door from `unknown` to our errors. Ours pass through, an abort becomes AbortError,
 * anything else is a bug of ours: its text stays in `cause` and never reaches a caller.
 */
export function toSdkError(thrown: unknown): SDKError {
  if (thrown instanceof SDKError) return thrown;
  if (thrown instanceof Error && thrown.name === "AbortError") {
    return new AbortError("the call was cancelled", { cause: thrown });
  }
  return new InternalError("internal error", { cause: thrown });
}

/** A request that is wrong in one field, turned away before anything is sent. */
export function invalidField(field: string, description: string): InvalidRequestError {
  return invalidFields([{ field, description }]);
}

/** A request that is wrong in some fields, turned away before anything is sent. At least one. */
export function invalidFields(violations: readonly FieldViolation[]): InvalidRequestError {
  const text = violations.map((violation) => `${violation.field}: ${violation.description}`).join("; ");
  return new InvalidRequestError(text, { violations });
}

function durationOf(seconds: number): Duration {
  const nanos = BigInt(Math.round(seconds * 1e9));
  return create(DurationSchema, { seconds: nanos / 1_000_000_000n, nanos: Number(nanos % 1_000_000_000n) });
}

function secondsOf(duration: Duration): number {
  return Number(duration.seconds) + duration.nanos / 1e9;
}
