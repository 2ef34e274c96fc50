/** Our Request -> their body (provider documentation: "generateContent"). */

import { traitsOf } from "../../catalog/catalog.ts";
import { type ModelTraits, takesSampling } from "../../catalog/model-traits.ts";
import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { LossReport } from "../../kit/adapter/loss-report.ts";
import { type JsonObject, mergeObjects, parseObjectField, without } from "../../kit/json/json.ts";
import { toInput } from "./input.ts";
import type { MediaSource } from "./media.ts";
import { thinking } from "./reasoning.ts";
import { answerShape } from "./response-format.ts";
import { toTools } from "./tools.ts";
import { isEmpty, WIRE_NAME } from "./wire.ts";

/** What the translation of a request needs to know of the provider entry. */
export interface RequestSettings {
  /** Name under which the provider is registered. */
  readonly provider: string;
  /** Turns the source of an image, sound or document into a URL, bytes or a file id. */
  readonly media: MediaSource;
}

/** A request in the provider's words. */
export interface RequestBody {
  /** For `stringifyJson`. The same for a whole answer and a stream. */
  readonly body: JsonObject;
  /** What was changed or left out. */
  readonly warnings: Warning[];
}

/**
 * Translates a request.
 * @throws InvalidRequestError naming what the API has no form for; for a strict request also
 * what would otherwise be changed or left out.
 */
export async function toRequestBody(request: Request, settings: RequestSettings): Promise<RequestBody> {
  const loss = new LossReport();
  const traits = traitsOf(WIRE_NAME, request.model);
  const options = providerOptions(request, settings.provider);
  const { system, contents } = await toInput({ ...settings, request, traits, loss });
  const shape = answerShape(request, traits, loss);
  const generationConfig = {
    ...sampling(request, traits, loss),
    ...thinking(request.reasoningEffort, traits, loss),
    ...shape.config,
  };
  const body: JsonObject = {
    ...instructions(system, shape.instruction),
    contents: contents.map(({ role, parts }) => ({ role, parts })),
    ...toTools(request, settings.provider, traits, loss),
    ...(isEmpty(generationConfig) ? {} : { generationConfig }),
  };
  reportMetadata(request, loss);
  const fresh = withoutCached(body, options, loss);
  loss.enforce(request.lossPolicy);
  return { body: mergeObjects(fresh, options, APPENDED_OPTIONS), warnings: loss.warnings };
}

/** Lists that provider options add to instead of replacing. */
const APPENDED_OPTIONS = ["tools"];

/**
 * The path of a model's method below the base URL.
 * @param version Of the API, for instance `v1beta`.
 * @param model An id, or a resource name such as `tunedModels/mine`.
 * @throws InvalidRequestError where the model would lead to another path.
 */
export function pathOf(version: string, model: string, streaming: boolean): string {
  const name = RESOURCE_NAME.test(model) ? model : `models/${model}`;
  const segments = name.split("/");
  if (segments.some((segment) => segment === "" || segment === "." || segment === ".."))
    throw invalidField(
      "model",
      "expected the id of a model or a resource name such as models/gemini-3.5-flash",
    );
  const resource = segments.map(encodeURIComponent).join("/");
  return `/${version}/${resource}:${streaming ? "streamGenerateContent?alt=sse" : "generateContent"}`;
}

const RESOURCE_NAME = /^(?:models|tunedModels|publishers|projects)\//;

/** The caller's own words for this provider, by its registered name or by the name of its API. */
function providerOptions({ providerOptionsJson }: Request, provider: string): JsonObject {
  const name = providerOptionsJson[provider] === undefined ? WIRE_NAME : provider;
  const text = providerOptionsJson[name];
  return text === undefined ? {} : parseObjectField(text, `provider_options_json["${name}"]`);
}

function instructions(system: string | undefined, further: string | undefined): JsonObject {
  const text = [system, further].filter((entry) => entry !== undefined).join("\n\n");
  return text === "" ? {} : { systemInstruction: { parts: [{ text }] } };
}

const MOST_STOP_SEQUENCES = 5;

function sampling(request: Request, traits: ModelTraits, loss: LossReport): JsonObject {
  const { temperature, topP, maxTokens, stopSequences } = request;
  if (stopSequences.length > MOST_STOP_SEQUENCES) {
    const found = `expected at most ${MOST_STOP_SEQUENCES}, found ${stopSequences.length}`;
    throw invalidField("stop_sequences", found);
  }
  const isTaken = takesSampling(traits, request.reasoningEffort);
  if (!isTaken && temperature !== undefined) loss.lose("temperature", "unsupported_setting", NO_SAMPLING);
  if (!isTaken && topP !== undefined) loss.lose("top_p", "unsupported_setting", NO_SAMPLING);
  return {
    ...(isTaken && temperature !== undefined ? { temperature } : {}),
    ...(isTaken && topP !== undefined ? { topP } : {}),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(stopSequences.length === 0 ? {} : { stopSequences }),
  };
}

const NO_SAMPLING = "the model does not take it; it was left out";

function reportMetadata({ metadata }: Request, loss: LossReport): void {
  if (Object.keys(metadata).length === 0) return;
  loss.lose("metadata", "unsupported_setting", "the Gemini API stores no metadata; it was left out");
}

/** What a cached beginning holds; the API refuses to be told it again. */
const CACHED_KEYS = ["systemInstruction", "tools", "toolConfig"];

function withoutCached(body: JsonObject, options: JsonObject, loss: LossReport): JsonObject {
  if (typeof options.cachedContent !== "string" || !CACHED_KEYS.some((key) => key in body)) return body;
  const message =
    "the cached content brings its own instructions and tools; those of the request were left out";
  loss.lose("messages", "adjusted_setting", message);
  return without(body, ...CACHED_KEYS);
}
