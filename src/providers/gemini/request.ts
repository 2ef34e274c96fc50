/** Our Request -> their body (provider documentation: "generateContent"). */

import { acceptsSampling, type ModelTraits } from "../../catalog/model-traits.ts";
import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { type RequestBody, readProviderOptions } from "../../kit/adapter/request-context.ts";
import { LossReport } from "../../kit/call/loss-report.ts";
import { asJson, isEmpty, type JsonObject, mergeObjects, without } from "../../kit/json/json.ts";
import type { GenerateContentRequest, GenerationConfig } from "../../wire/gemini/request.ts";
import { PROVIDER_NAME, type RequestContext } from "./context.ts";
import { toConversation } from "./input.ts";
import { reasoningSettings } from "./reasoning.ts";
import { responseFormatSettings } from "./response-format.ts";
import { toolSettings } from "./tools.ts";

/** The settings of the provider's configuration for the translation of a request. */
export type RequestSettings = Pick<RequestContext, "provider" | "media" | "models">;

/**
 * Translates a request. The body is the same for a whole answer and a stream.
 * @throws InvalidRequestError naming the part that the API has no form for; under LOSS_POLICY_REFUSE also parts that
 *   would otherwise be changed or left out.
 */
export async function toRequestBody(request: Request, settings: RequestSettings): Promise<RequestBody> {
  const loss = new LossReport();
  const traits = settings.models.traitsOf(request.model);
  const context: RequestContext = { ...settings, request, traits, loss };
  const { options } = readProviderOptions(request, settings.provider, PROVIDER_NAME);
  const { system, contents } = await toConversation(context);
  const format = responseFormatSettings(request, traits, loss);
  const generationConfig: GenerationConfig = {
    ...samplingSettings(request, traits, loss),
    ...reasoningSettings(request.reasoningEffort, traits, loss),
    ...format.config,
  };
  const body: GenerateContentRequest = {
    ...instructions(system, format.instruction),
    contents,
    ...toolSettings(context),
    ...(isEmpty(generationConfig) ? {} : { generationConfig }),
  };
  reportMetadata(request, loss);
  const uncached = withoutCached(asJson(body), options, loss);
  loss.enforce(request.lossPolicy);
  return { body: mergeObjects(uncached, options, APPENDED_OPTIONS), warnings: loss.warnings };
}

/** Lists that provider options add to instead of replacing. */
const APPENDED_OPTIONS: readonly (keyof GenerateContentRequest)[] = ["tools"];

/**
 * Returns the path of a model's method below the base URL.
 * @param version Version of the API, for instance `v1beta`.
 * @param model An id, or a resource name such as `tunedModels/mine`.
 * @throws InvalidRequestError if the model would change the path.
 */
export function toPath(version: string, model: string, streaming: boolean): string {
  return toMethodPath(version, model, streaming ? "streamGenerateContent?alt=sse" : "generateContent");
}

/** Returns the path of a method of a model, as `toPath`. @param method With its query. */
export function toMethodPath(version: string, model: string, method: string): string {
  const segments = toResourceName(model).split("/");
  if (segments.some((segment) => segment === "" || segment === "." || segment === ".."))
    throw invalidField(
      "model",
      "expected the id of a model or a resource name such as models/gemini-3.5-flash",
    );
  const resource = segments.map(encodeURIComponent).join("/");
  return `/${version}/${resource}:${method}`;
}

/** Returns the resource name of a model. */
export function toResourceName(model: string): string {
  return RESOURCE_NAME.test(model) ? model : `models/${model}`;
}

const RESOURCE_NAME = /^(?:models|tunedModels|publishers|projects)\//;

function instructions(
  system: string | undefined,
  format: string | undefined,
): Pick<GenerateContentRequest, "systemInstruction"> {
  const text = [system, format].filter((entry) => entry !== undefined).join("\n\n");
  return text === "" ? {} : { systemInstruction: { parts: [{ text }] } };
}

const MAX_STOP_SEQUENCES = 5;

function samplingSettings(request: Request, traits: ModelTraits, loss: LossReport): GenerationConfig {
  const { temperature, topP, maxTokens, stopSequences } = request;
  if (stopSequences.length > MAX_STOP_SEQUENCES) {
    const found = `expected at most ${MAX_STOP_SEQUENCES}, found ${stopSequences.length}`;
    throw invalidField("stop_sequences", found);
  }
  const isSupported = acceptsSampling(traits, request.reasoningEffort);
  if (!isSupported && temperature !== undefined) loss.lose("temperature", "unsupported_setting", NO_SAMPLING);
  if (!isSupported && topP !== undefined) loss.lose("top_p", "unsupported_setting", NO_SAMPLING);
  return {
    ...(isSupported && temperature !== undefined ? { temperature } : {}),
    ...(isSupported && topP !== undefined ? { topP } : {}),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(stopSequences.length === 0 ? {} : { stopSequences }),
  };
}

const NO_SAMPLING = "the model does not accept this setting; it was left out";

function reportMetadata({ metadata }: Request, loss: LossReport): void {
  if (Object.keys(metadata).length === 0) return;
  loss.lose("metadata", "unsupported_setting", "the Gemini API stores no metadata; it was left out");
}

/** Fields that cached content holds; the API refuses them in a request that uses it. */
const CACHED_KEYS: readonly (keyof GenerateContentRequest)[] = ["systemInstruction", "tools", "toolConfig"];

function withoutCached(body: JsonObject, options: JsonObject, loss: LossReport): JsonObject {
  if (typeof options.cachedContent !== "string" || !CACHED_KEYS.some((key) => key in body)) return body;
  const message = "the cached content has instructions and tools; those in the request were left out";
  loss.lose("messages", "adjusted_setting", message);
  return without(body, ...CACHED_KEYS);
}
