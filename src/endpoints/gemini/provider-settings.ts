/**
 * The settings of a request that have no field in the contract. Gemini gets them unchanged; other providers get those
 * for which they have a counterpart, and the rest becomes warnings.
 */
import { compact } from "../../core/compact.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import type { GenerateContentRequest, GenerationConfig } from "../../wire/gemini/request.ts";
import type { ServedModel } from "../models/model-directory.ts";
import { invalidParameter, quote } from "../openai/fields.ts";
import {
  type Counterparts,
  createOptions,
  type ProviderSettings,
  toEffort,
} from "../stateless/provider-settings.ts";
import type { ReadingContext } from "../stateless/reading-context.ts";
import { type ProtoFields, toJsonName } from "./fields.ts";
import { isGemini } from "./provider-state.ts";

/** Fields of the body that the contract has, or that are read here. */
const BODY_FIELDS: ReadonlySet<string> = new Set<keyof GenerateContentRequest>([
  "contents",
  "generationConfig",
  "model",
  "systemInstruction",
  "toolConfig",
  "tools",
]);

/** Fields of `generationConfig` that the contract has. */
const CONFIG_FIELDS: ReadonlySet<string> = new Set<keyof GenerationConfig>([
  "candidateCount",
  "maxOutputTokens",
  "responseJsonSchema",
  "responseMimeType",
  "responseSchema",
  "stopSequences",
  "temperature",
  "topP",
]);

const TOOL_CONFIG_FIELDS: ReadonlySet<string> = new Set(["functionCallingConfig"]);

/**
 * Reads these settings.
 * @param config `generationConfig`; empty if it is absent.
 * @throws InvalidRequestError if ignoring a setting would change what the caller gets.
 */
export function readProviderSettings(
  body: ProtoFields,
  config: ProtoFields,
  context: ReadingContext,
): ProviderSettings {
  checkCandidates(config);
  const { served } = context;
  if (isGemini(context))
    return { providerOptionsJson: createOptions(served, toGeminiOptions(body, config)), reasoningEffort: "" };
  checkModalities(config);
  checkCache(body);
  const { options, read } = getCounterparts(config, served);
  warnAboutOtherFields(body, config, [...read, "thinkingConfig"], context);
  return { providerOptionsJson: createOptions(served, options), reasoningEffort: readEffort(config) };
}

function checkCandidates(config: ProtoFields): void {
  const count = config.integer("candidateCount", { min: 0 }) ?? 1;
  if (count <= 1) return;
  const found = `expected 1, found ${count}; send several requests`;
  throw invalidParameter(config.at("candidateCount"), "unsupported_value", found);
}

/** Refused instead of ignored, since a caller that asks for speech or an image cannot use text. */
function checkModalities(config: ProtoFields): void {
  const other = config
    .strings("responseModalities")
    ?.find((each) => !TEXT_MODALITIES.includes(each.toUpperCase()));
  if (other === undefined) return;
  const found = `expected "TEXT", found ${quote(other)}; the model's provider returns only text in this API`;
  throw invalidParameter(config.at("responseModalities"), "unsupported_value", found);
}

/** Refused instead of ignored, since the cached content is the beginning of the prompt. */
function checkCache(body: ProtoFields): void {
  if (!body.has("cachedContent")) return;
  const problem = "the model's provider cannot read it; send this part of the prompt in contents";
  throw invalidParameter(body.at("cachedContent"), "unsupported_value", problem);
}

const TEXT_MODALITIES = ["TEXT", "MODALITY_UNSPECIFIED"];

function toGeminiOptions(body: ProtoFields, config: ProtoFields): JsonObject {
  const generationConfig = pick(config, config.getOthers(CONFIG_FIELDS));
  const isEnum = config.string("responseMimeType") === ENUM_TYPE;
  const format = FORMAT_FIELDS.filter((name) => isEnum && config.has(name));
  const toolConfig = body.object("toolConfig");
  const tools = toolConfig === undefined ? {} : pick(toolConfig, toolConfig.getOthers(TOOL_CONFIG_FIELDS));
  return {
    ...pick(body, body.getOthers(BODY_FIELDS)),
    ...nest("generationConfig", { ...generationConfig, ...pick(config, format) }),
    ...nest("toolConfig", tools),
  };
}

/** The answer is one word of a list. Only Gemini can write it without quotes. */
export const ENUM_TYPE = "text/x.enum";

const FORMAT_FIELDS = ["responseMimeType", "responseSchema", "responseJsonSchema"] as const;

function pick(fields: ProtoFields, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [toJsonName(name), fields.get(name) as JsonObject]));
}

function nest(name: string, settings: JsonObject): JsonObject {
  return Object.keys(settings).length === 0 ? {} : { [name]: settings };
}

/** Returns the provider's counterparts of fields of `generationConfig`. */
function getCounterparts(config: ProtoFields, { api }: ServedModel): Counterparts {
  switch (api) {
    case "anthropic-messages":
      return { options: compact({ top_k: config.integer("topK", { min: 0 }) }), read: ["topK"] };
    case "openai-chat": {
      const options = {
        seed: config.integer("seed"),
        frequency_penalty: config.number("frequencyPenalty", { min: -2, max: 2 }),
        presence_penalty: config.number("presencePenalty", { min: -2, max: 2 }),
      };
      return { options: compact(options), read: ["seed", "frequencyPenalty", "presencePenalty"] };
    }
    default:
      return { options: {}, read: [] };
  }
}

function warnAboutOtherFields(
  body: ProtoFields,
  config: ProtoFields,
  read: readonly string[],
  context: ReadingContext,
): void {
  const toolConfig = body.object("toolConfig");
  const paths = [
    ...body.getOthers(BODY_FIELDS).map((name) => body.at(name)),
    ...config
      .getOthers(new Set([...CONFIG_FIELDS, ...read, "responseModalities"]))
      .map((name) => config.at(name)),
    ...(toolConfig?.getOthers(TOOL_CONFIG_FIELDS).map((name) => toolConfig.at(name)) ?? []),
  ];
  for (const path of paths) context.warnAboutSetting(path);
}

/** Returns the reasoning effort: the thinking level, or a level for the thinking budget. -1 leaves it to the model. */
function readEffort(config: ProtoFields): string {
  const thinking = config.object("thinkingConfig");
  const level = thinking?.string("thinkingLevel", { max: 64 })?.toLowerCase() ?? UNSPECIFIED_LEVEL;
  if (level !== UNSPECIFIED_LEVEL) return level;
  const budget = thinking?.integer("thinkingBudget", { min: -1 }) ?? -1;
  return budget < 0 ? "" : toEffort(budget);
}

/** Reports whether the caller asks for the text of the model's thoughts. */
export function wantsThoughts(body: ProtoFields): boolean {
  const thinking = body.object("generationConfig")?.object("thinkingConfig");
  return thinking?.boolean("includeThoughts") ?? false;
}

const UNSPECIFIED_LEVEL = "thinking_level_unspecified";
