/** Their failure -> our error. */
import type { SDKError } from "../../core/errors.ts";
import { kindOfStatus } from "../../kit/adapter/classify.ts";
import { readFailureBody } from "../../kit/adapter/failure-body.ts";
import type { WireFailure } from "../../kit/adapter/http-adapter.ts";
import { createProviderError } from "../../kit/adapter/provider-error.ts";
import { textIn } from "../../kit/json/json.ts";
import type { EchoError } from "../../wire/echo/error.ts";

/** Creates the error of a failed answer. */
export function toError({ status, body, ...source }: WireFailure): SDKError {
  const { object, text } = readFailureBody<EchoError>(body);
  const message = object === undefined ? text : textIn(object.error);
  const failure = { code: "", message, getKind: () => kindOfStatus(status) };
  return createProviderError(failure, { ...source, body, httpStatusCode: status });
}
