/** SDKErrors -> errors of Anthropic's API ("Errors"): the status and the body of a failed response. */
import type { SDKError } from "../../core/errors.ts";
import type { FailedResponse } from "../../http/endpoint.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import { failedResponse } from "../openai/errors.ts";

/** The types of errors, by their statuses. Other statuses of clients have `invalid_request_error`, of servers `api_error`. */
const TYPES: ReadonlyMap<number, string> = new Map([
  [401, "authentication_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [504, "timeout_error"],
  [529, "overloaded_error"],
]);

const OVERLOADED = 529;

/** Creates the response to a failed request. */
export function failedMessage(error: SDKError): FailedResponse {
  const { status: found, headers } = failedResponse(error);
  const status = found === 503 ? OVERLOADED : found;
  return { status, headers, body: Buffer.from(JSON.stringify(toErrorBody(error, status))) };
}

/** Returns the body of an error, which is also the data of the event by which a stream ends that failed. */
export function toErrorBody(error: SDKError, status = failedMessage(error).status): JsonObject {
  const type = TYPES.get(status) ?? (status < 500 ? "invalid_request_error" : "api_error");
  return { type: "error", error: { type, message: error.message } };
}
