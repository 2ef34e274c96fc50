import { errorOf, type ProviderErrorOptions, type SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";

/** A failure as an adapter has read it from a provider's body. */
export interface ReportedFailure {
  readonly kind: ErrorKind;
  /** The provider's own code or type; empty where it gives none. */
  readonly code: string;
  /** The provider's message as far as it may be repeated, see `repeatableMessage`; empty where there is none. */
  readonly message: string;
  /** Seconds to wait, as the body says; the headers' own delay goes first. */
  readonly retryAfter?: number | undefined;
}

/** The error of a failure that a provider reported: `openai answered 429 (rate_limit_exceeded): Rate limit reached`. */
export function providerErrorOf(failure: ReportedFailure, options: ProviderErrorOptions): SDKError {
  const { kind, code, retryAfter } = failure;
  const isQuota = kind === ErrorKind.QUOTA_EXCEEDED;
  return errorOf(kind, textOf(failure, options), {
    ...options,
    // Waiting does not restore a quota that is used up.
    retryAfter: isQuota ? undefined : (options.retryAfter ?? retryAfter),
    retryable: isQuota ? false : options.retryable,
    errorCode: code === "" ? undefined : code,
  });
}

function textOf({ code, message }: ReportedFailure, options: ProviderErrorOptions): string {
  const { provider, httpStatusCode } = options;
  const status = httpStatusCode === undefined ? "reported a failure" : `answered ${httpStatusCode}`;
  return `${provider} ${status}${code === "" ? "" : ` (${code})`}${message === "" ? "" : `: ${message}`}`;
}
