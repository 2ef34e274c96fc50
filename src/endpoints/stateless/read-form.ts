/** Reads requests whose API is also a wire API of providers: those providers get them unchanged. */
import { create } from "@bufbuild/protobuf";
import type { ProviderApi } from "../../client/providers.ts";
import { validateAhead } from "../../client/validate.ts";
import { InvalidRequestError, type SDKError } from "../../core/errors.ts";
import { userMessage } from "../../core/message.ts";
import { type Request, RequestSchema } from "../../gen/outrigger/v1/request_pb.ts";
import { asInt32 } from "../../kit/json/json.ts";
import type { ModelTarget } from "../models/model-directory.ts";
import { type Fields, mistake } from "../openai/fields.ts";
import type { ReadRequest } from "./answer-request.ts";
import type { ReadingContext } from "./reading-context.ts";
import type { CallerForm, RelayedHeaders } from "./relayed-call.ts";

/** A request, and what is needed to relay it. */
export type ReadForm = Pick<ReadRequest, "request" | "form" | "toBodyPath">;

/** The body that is read. */
export interface FormReading {
  /** The API of the caller, by the name that it has as the API of a provider. */
  readonly api: ProviderApi;
  /** The headers of the API that go through unchanged. */
  readonly headers: RelayedHeaders;
  readonly fields: Fields;
  readonly target: ModelTarget;
  readonly context: ReadingContext;
}

/**
 * Reads a body. If the provider speaks the API of the caller, it decides what it accepts: a request that cannot be read is
 * only relayed then, as is one with a field that no other API has.
 * @param read Reads a request of the contract from the fields.
 * @param findUntranslatable Returns the mistake of a request that only this API can express; undefined if there is none.
 * @throws InvalidRequestError that names the first invalid field.
 */
export function readForm(
  reading: FormReading,
  read: () => Omit<ReadForm, "form">,
  findUntranslatable: () => SDKError | undefined = () => undefined,
): ReadForm {
  const { api, fields, target, context } = reading;
  const isSame = target.served.api === api;
  try {
    const untranslatable = findUntranslatable();
    if (untranslatable !== undefined && !isSame) throw untranslatable;
    const found = read();
    if (context.hasCarried && untranslatable !== undefined) throw untranslatable;
    if (context.hasCarried) return found;
    if (isSame) validateAhead(found.request);
    return { ...found, form: createForm(reading, untranslatable) };
  } catch (thrown) {
    if (!isSame || context.hasCarried || !(thrown instanceof InvalidRequestError)) throw thrown;
    const form = createForm(reading, thrown);
    return { request: createStandIn(fields, target), form, toBodyPath: (field) => field };
  }
}

/** Limits, budgets and access keys go by the model of the request. Servers that are written in Go read any case. */
function createForm({ api, headers, fields }: FormReading, untranslatable: SDKError | undefined): CallerForm {
  const { getMembers } = fields;
  const model = Object.keys(fields.value).find((name) => name !== "model" && name.toLowerCase() === "model");
  if (model !== undefined) throw mistake(model, "unsupported_parameter", "expected no model besides `model`");
  return { api, headers, getMembers, untranslatable };
}

/** Stands in for a request that could not be read: middleware sees its size, and its limit. */
function createStandIn(fields: Fields, { provider, model }: ModelTarget): Request {
  const request = create(RequestSchema, { provider, model, messages: [userMessage(fields.text())] });
  const limit = asInt32(fields.value.max_tokens ?? fields.value.max_completion_tokens);
  if (limit !== undefined && limit > 0) request.maxTokens = limit;
  return request;
}
