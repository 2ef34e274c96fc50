/** The form in which a caller wrote a request, for providers with the same API. */
import { create } from "@bufbuild/protobuf";
import { withFieldPaths } from "../../client/field-paths.ts";
import type { ProviderApi } from "../../client/providers.ts";
import { validateOnce } from "../../client/validate.ts";
import { type SDKError, toSdkError } from "../../core/errors.ts";
import { userMessage } from "../../core/message.ts";
import { type Request, RequestSchema } from "../../gen/outrigger/v1/request_pb.ts";
import { asInt32 } from "../../kit/json/json.ts";
import type { ModelTarget } from "../models/model-directory.ts";
import { type Fields, invalidParameter } from "../openai/fields.ts";
import type { CallerForm, RelayedHeaders } from "./relayed-call.ts";

/** A body that may be relayed. */
export interface FormSource {
  /** The API of the caller, by its name as the API of a provider. */
  readonly api: ProviderApi;
  /** The headers of the API that go through unchanged. */
  readonly headers: RelayedHeaders;
  readonly fields: Fields;
}

/**
 * Creates the form of a body.
 * @param untranslatable Why the request cannot be translated. Undefined: it can.
 * @throws InvalidRequestError for a second model, since limits, budgets and permissions are checked for `model` only.
 */
export function createForm(
  { api, headers, fields }: FormSource,
  untranslatable: SDKError | undefined,
): CallerForm {
  const { getMembers } = fields;
  // Servers written in Go ignore the case of names.
  const model = Object.keys(fields.value).find(isOtherModel);
  if (model !== undefined)
    throw invalidParameter(model, "unsupported_parameter", "expected no model other than `model`");
  return { api, headers, getMembers, untranslatable };
}

function isOtherModel(name: string): boolean {
  return name.length === "model".length && name !== "model" && name.toLowerCase() === "model";
}

/**
 * Validates a request that was read from a body.
 * @param read The request, and a function that returns the path in the body for one of its fields.
 * @throws InvalidRequestError with paths of the body.
 */
export function validateRead(read: { readonly request: Request; toBodyPath(field: string): string }): void {
  try {
    validateOnce(read.request);
  } catch (thrown) {
    throw withFieldPaths(toSdkError(thrown), (field) => read.toBodyPath(field));
  }
}

/** Fields that limit the output, by their names in the APIs of OpenAI and Anthropic. */
const LIMITS = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/** Creates a stand-in for a request that could not be translated. Middleware sees its size and its token limit. */
export function createPlaceholder(fields: Fields, { provider, model }: ModelTarget): Request {
  const request = create(RequestSchema, { provider, model, messages: [userMessage(fields.text())] });
  const limit = LIMITS.map((name) => asInt32(fields.get(name))).find((value) => value !== undefined);
  if (limit !== undefined && limit > 0) request.maxTokens = limit;
  return request;
}
