import type { ProviderModels } from "../../catalog/catalog.ts";
import type { ModelTraits } from "../../catalog/model-traits.ts";
import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import type { LossReport } from "../call/loss-report.ts";
import { type JsonObject, parseObjectField } from "../json/json.ts";

/** The settings of a provider entry that every adapter needs to translate requests. */
export interface ProviderSettings {
  /** Name under which the provider is registered. */
  readonly provider: string;
  /** The catalog as seen by the provider. */
  readonly models: ProviderModels;
}

/** The context that every adapter needs to translate one request. */
export interface TranslationContext extends ProviderSettings {
  readonly request: Request;
  readonly traits: ModelTraits;
  /** Collects the parts of the request that the API cannot honour. */
  readonly loss: LossReport;
}

/** A request in the provider's form. */
export interface RequestBody {
  /** For `stringifyJson`: some members keep their exact source text. */
  readonly body: JsonObject;
  /** Notes about parts of the request that were changed or left out. */
  readonly warnings: Warning[];
  /** As in `WireRequest`. */
  readonly elementFields?: readonly (string | undefined)[] | undefined;
  /** As in `WireRequest`. */
  readonly wrappedMember?: string | undefined;
}

/** The options in the provider's form that a request has for a provider. */
export interface ProviderOptions {
  readonly options: JsonObject;
  /** Path of the options in the request, for errors. */
  readonly field: string;
}

/**
 * Reads the `provider_options_json` that a request has for a provider, by its registered name or by the name of its
 * API.
 * @throws InvalidRequestError if the options are not a JSON object.
 */
export function readProviderOptions(
  { providerOptionsJson }: Request,
  provider: string,
  api: string,
): ProviderOptions {
  const name = providerOptionsJson[provider] === undefined ? api : provider;
  const field = `provider_options_json["${name}"]`;
  const text = providerOptionsJson[name];
  return { options: text === undefined ? {} : parseObjectField(text, field), field };
}

/**
 * Like `readProviderOptions`, for an API whose body says whether the answer is streamed.
 * @throws InvalidRequestError also if the options say so: the called method decides.
 */
export function readBodyOptions(request: Request, provider: string, api: string): ProviderOptions {
  const found = readProviderOptions(request, provider, api);
  if (found.options.stream === undefined) return found;
  throw invalidField(`${found.field}.stream`, "expected no `stream` here: call Stream or Complete instead");
}

/**
 * Reads the option `unsupported_tool_choice`: whether a forced tool choice that the model does not accept becomes
 * `auto` (a named tool is then the only one offered) instead of an error, the default.
 * @throws InvalidRequestError if it is neither `error` nor `auto`.
 */
export function readToolChoicePolicy({ options, field }: ProviderOptions): boolean {
  const policy = options.unsupported_tool_choice ?? "error";
  if (policy === "error" || policy === "auto") return policy === "auto";
  throw invalidField(`${field}.unsupported_tool_choice`, 'expected "error" or "auto"');
}
