/** SDKErrors -> errors of Anthropic's API ("Errors"): the status and the body of a failed response. */
import { InvalidRequestError, ProviderError, type SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { FailedResponse } from "../../http/endpoint.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import { failedResponse } from "../openai/errors.ts";

/**
 * The types of errors by status. Every other 4xx status has `invalid_request_error`, and every other 5xx status
 * `api_error`.
 */
const TYPES: ReadonlyMap<number, string> = new Map([
  [401, "authentication_error"],
  [402, "billing_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [409, "conflict_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [504, "timeout_error"],
  [529, "overloaded_error"],
]);

const OVERLOADED = 529;
const PAYMENT_REQUIRED = 402;

/** Reports whether the provider's account has no money left. */
function isUnpaid(error: SDKError): boolean {
  return error instanceof ProviderError && error.kind === ErrorKind.QUOTA_EXCEEDED && error.provider !== "";
}

/** Creates the response to a failed request. */
export function failedMessage(error: SDKError): FailedResponse {
  const { status: found, headers } = failedResponse(error);
  const status = isUnpaid(error) ? PAYMENT_REQUIRED : found === 503 ? OVERLOADED : found;
  return { status, headers, body: Buffer.from(JSON.stringify(toErrorBody(error, status))) };
}

/** The code by which Anthropic's SDKs know that they have to send the whole conversation. */
const THREAD_UNSUPPORTED = "thread_unsupported_request";

/** Creates the error for a request with `thread`, which the model's provider cannot honour. */
export function threadUnsupported(): InvalidRequestError {
  const description =
    "expected none, since the model's provider keeps no conversations; send the whole conversation";
  return new InvalidRequestError(`thread: ${description}`, {
    violations: [{ field: "thread", description }],
    errorCode: THREAD_UNSUPPORTED,
  });
}

/** Returns the body of an error, which is also the data of the event that ends a failed stream. */
export function toErrorBody(error: SDKError, status = failedMessage(error).status): JsonObject {
  const type = TYPES.get(status) ?? (status < 500 ? "invalid_request_error" : "api_error");
  return { type: "error", error: { type, message: error.message, ...toDetails(error) } };
}

/** Returns the details that Anthropic's SDKs read. */
function toDetails(error: SDKError): JsonObject {
  if (!(error instanceof InvalidRequestError) || error.provider !== "") return {};
  if (error.errorCode !== THREAD_UNSUPPORTED) return {};
  return { details: { error_code: THREAD_UNSUPPORTED, unsupported: ["thread"] } };
}
