/**
 * The settings of a request that have no field in the contract. A provider of the Chat Completions API gets them
 * unchanged; other APIs get those for which they have a counterpart, and the rest becomes warnings.
 */
import type { JsonObject } from "../../kit/json/json.ts";
import type { ChatRequest } from "../../wire/openai-chat/request.ts";
import type { ServedModel } from "../models/model-directory.ts";
import { type Fields, invalidParameter } from "../openai/fields.ts";
import { type Counterparts, createOptions } from "../stateless/provider-settings.ts";
import type { ReadingContext } from "../stateless/reading-context.ts";

/** Fields that the contract has, or that the sidecar handles itself. */
const READ_ELSEWHERE: ReadonlySet<string> = new Set<keyof ChatRequest>([
  "max_completion_tokens",
  "max_tokens",
  "messages",
  "model",
  "n",
  "parallel_tool_calls",
  "reasoning_effort",
  "response_format",
  "stop",
  "stream",
  "stream_options",
  "temperature",
  "tool_choice",
  "tools",
  "top_p",
]);

/** Values of fields that request the default behaviour. */
const WITHOUT_EFFECT: ReadonlyMap<string, (value: unknown) => boolean> = new Map<
  string,
  (value: unknown) => boolean
>([
  ["frequency_penalty", (value) => value === 0],
  ["logit_bias", isEmpty],
  ["logprobs", (value) => value === false],
  ["metadata", isEmpty],
  ["modalities", (value) => Array.isArray(value) && value.every((each) => each === "text")],
  ["presence_penalty", (value) => value === 0],
  ["service_tier", (value) => value === "auto" || value === "default"],
  ["store", (value) => value === false],
  ["top_logprobs", (value) => value === 0],
  ["verbosity", (value) => value === "medium"],
]);

/**
 * Reads these settings.
 * @returns By the name of the provider, as `Request.provider_options_json`.
 * @throws InvalidRequestError if ignoring a setting would change what the caller gets.
 */
export function readProviderSettings(fields: Fields, context: ReadingContext): Record<string, string> {
  const { served } = context;
  const others = Object.keys(fields.value).filter((name) => !READ_ELSEWHERE.has(name) && fields.has(name));
  if (served.api === "openai-chat") return createOptions(served, pick(fields, others));
  refuseAudio(fields);
  const { options, read } = getCounterparts(fields, served);
  for (const name of others) {
    if (read.includes(name) || WITHOUT_EFFECT.get(name)?.(fields.get(name)) === true) continue;
    context.warnAboutSetting(name);
  }
  return createOptions(served, options);
}

function pick(fields: Fields, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, fields.value[name]]));
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** Refused instead of ignored, since a caller that asks for speech cannot use text. */
function refuseAudio(fields: Fields): void {
  const index = fields.strings("modalities", { max: 8 })?.indexOf("audio") ?? -1;
  if (index < 0) return;
  const found = `expected "text", found "audio"; the model's provider returns no audio in this API`;
  throw invalidParameter(`modalities[${index}]`, "unsupported_value", found);
}

function getCounterparts(fields: Fields, { api }: ServedModel): Counterparts {
  switch (api) {
    case "openai-responses":
      return toResponsesOptions(fields);
    case "anthropic-messages":
      return toAnthropicOptions(fields);
    case "gemini":
      return toGeminiOptions(fields);
    default:
      return { options: {}, read: [] };
  }
}

/** Settings that OpenAI's two APIs share. */
const SHARED = [
  "prompt_cache_key",
  "prompt_cache_retention",
  "safety_identifier",
  "service_tier",
  "user",
] as const satisfies (keyof ChatRequest)[];

function toResponsesOptions(fields: Fields): Counterparts {
  const shared = SHARED.filter((name) => fields.has(name));
  const verbosity = fields.word("verbosity", ["low", "medium", "high"]);
  const text = verbosity === undefined ? {} : { text: { verbosity } };
  return { options: { ...pick(fields, shared), ...text }, read: [...SHARED, "verbosity"] };
}

function toAnthropicOptions(fields: Fields): Counterparts {
  const user = fields.string("safety_identifier") ?? fields.string("user");
  const tier = toAnthropicTier(fields.string("service_tier"));
  const options = {
    ...(user === undefined ? {} : { metadata: { user_id: user } }),
    ...(tier === undefined ? {} : { service_tier: tier }),
  };
  return { options, read: ["safety_identifier", "user", ...(tier === undefined ? [] : ["service_tier"])] };
}

/** Anthropic has capacity that was bought in advance, and the standard tier. */
function toAnthropicTier(tier: string | undefined): string | undefined {
  if (tier === "default") return "standard_only";
  return tier === "priority" || tier === "fast" ? "auto" : undefined;
}

function toGeminiOptions(fields: Fields): Counterparts {
  const config = {
    seed: fields.integer("seed"),
    frequencyPenalty: fields.number("frequency_penalty", { min: -2, max: 2 }),
    presencePenalty: fields.number("presence_penalty", { min: -2, max: 2 }),
  };
  const isSet = Object.values(config).some((value) => value !== undefined);
  const read = ["seed", "frequency_penalty", "presence_penalty"];
  return { options: isSet ? { generationConfig: JSON.parse(JSON.stringify(config)) } : {}, read };
}
