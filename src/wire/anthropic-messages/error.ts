/** The failure reports of Anthropic's Messages API (documentation: "Errors"). */
import type {
  ErrorType as DocumentedErrorType,
  ErrorDetails,
  ErrorResponse as SdkErrorResponse,
} from "@anthropic-ai/sdk/resources/shared";

/** The details of a failure with a code (documentation: "Errors", "Error codes"). */
export type { ErrorDetails } from "@anthropic-ai/sdk/resources/shared";

/** The broad category of a failure (documentation: "Errors", "HTTP errors"). */
export type ErrorType = DocumentedErrorType | "request_too_large";

/** A failure (documentation: "Errors", "Error shapes", `error`). */
export interface ErrorObject {
  /** The broad category. */
  type: ErrorType;
  /** Description of the failure for people. */
  message: string;
  /** A code if the category alone is not specific enough (documentation: "Errors", "Error codes"). */
  details?: ErrorDetails | null;
}

/** The body of a failed request, and the event `error` of a stream (documentation: "Errors", "Error shapes"). */
export interface ErrorResponse extends Omit<SdkErrorResponse, "error"> {
  error: ErrorObject;
}

/** The undocumented form of proxies and compatible servers: the failure at the top level, or text alone. */
interface ProxyErrorResponse extends Omit<Partial<ErrorObject>, "type"> {
  type?: ErrorType | "error";
  /** The failure as text. */
  error?: ErrorObject | string;
  /** The failure as text. */
  detail?: string;
  /** Id of the request. */
  request_id?: string | null;
}

/** A body or an event that reports a failure (documentation: "Errors"). */
export type FailureBody = ErrorResponse | ProxyErrorResponse;
