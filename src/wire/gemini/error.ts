/**
 * Failures of Google's APIs. The SDK has no types for them, so these follow google/rpc/status.proto and
 * google/rpc/error_details.proto (provider documentation: "Troubleshooting guide").
 */

/** The body of a failed answer (provider documentation: "Troubleshooting guide", "Error codes"). */
export interface ErrorBody extends Partial<RpcStatus> {
  /** The failure. Some proxies give its message alone, others its fields at the top. */
  readonly error?: RpcStatus | string;
  /** The message of servers that are built on FastAPI. */
  readonly detail?: string;
}

/** A failure (google/rpc/status.proto, in the form of Google's HTTP APIs). */
export interface RpcStatus {
  /** The HTTP status. */
  readonly code: number;
  readonly message: string;
  /** The canonical code by name (google/rpc/code.proto), for instance `RESOURCE_EXHAUSTED`. */
  readonly status: string;
  readonly details?: readonly ErrorDetail[];
}

/** A detail, of the type that `@type` names (google/rpc/error_details.proto). */
export type ErrorDetail = ErrorInfo | QuotaFailure | RetryInfo | BadRequest | LocalizedMessage | Help;

/** Name of a detail's type, for instance `type.googleapis.com/google.rpc.RetryInfo`. */
interface TypedDetail {
  readonly "@type": string;
}

/** The cause (google/rpc/error_details.proto, "ErrorInfo"). */
export interface ErrorInfo extends TypedDetail {
  /** For instance `API_KEY_INVALID`. */
  readonly reason?: string;
  readonly domain?: string;
  readonly metadata?: ErrorMetadata;
}

/** The values of an ErrorInfo that are read; it may have others (google/rpc/error_details.proto, "ErrorInfo"). */
export interface ErrorMetadata {
  readonly service?: string;
  /** The limit of the quota that was exceeded. */
  readonly quota_limit_value?: string;
}

/** Quotas that were exceeded (google/rpc/error_details.proto, "QuotaFailure"). */
export interface QuotaFailure extends TypedDetail {
  readonly violations?: readonly QuotaViolation[];
}

/** One exceeded quota (google/rpc/error_details.proto, "QuotaFailure.Violation"). */
export interface QuotaViolation {
  readonly quotaMetric?: string;
  readonly quotaId?: string;
  readonly quotaDimensions?: Readonly<Record<string, string>>;
  readonly quotaValue?: string;
}

/** The time to wait (google/rpc/error_details.proto, "RetryInfo"). */
export interface RetryInfo extends TypedDetail {
  /** A duration in seconds, for instance `34s`. */
  readonly retryDelay?: string;
}

/** Invalid fields of the request (google/rpc/error_details.proto, "BadRequest"). */
export interface BadRequest extends TypedDetail {
  readonly fieldViolations?: readonly FieldViolation[];
}

/** One field that is wrong (google/rpc/error_details.proto, "BadRequest.FieldViolation"). */
export interface FieldViolation {
  /** Its path, for instance `generation_config.top_p`. */
  readonly field?: string;
  readonly description?: string;
}

/** The message for people (google/rpc/error_details.proto, "LocalizedMessage"). */
export interface LocalizedMessage extends TypedDetail {
  readonly locale?: string;
  readonly message?: string;
}

/** Links to documentation (google/rpc/error_details.proto, "Help"). */
export interface Help extends TypedDetail {
  readonly links?: readonly { readonly description?: string; readonly url?: string }[];
}
