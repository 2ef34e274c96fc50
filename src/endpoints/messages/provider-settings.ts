/**
 * The settings of a request that have no field in the contract. Anthropic gets them unchanged; other providers get
 * those for which they have a counterpart, and the rest becomes warnings.
 */
import type { JsonObject } from "../../kit/json/json.ts";
import type { MessageCreateParams } from "../../wire/anthropic-messages/request.ts";
import type { Fields } from "../openai/fields.ts";
import { createOptions, type ProviderSettings, toEffort } from "../stateless/provider-settings.ts";
import type { ReadingContext } from "../stateless/reading-context.ts";
import { isAnthropic } from "./provider-state.ts";

/** Fields that the contract has. */
const READ_ELSEWHERE: ReadonlySet<string> = new Set<keyof MessageCreateParams>([
  "max_tokens",
  "messages",
  "metadata",
  "model",
  "stop_sequences",
  "stream",
  "system",
  "temperature",
  "tool_choice",
  "tools",
  "top_p",
]);

/** Hints for Anthropic on how to serve the request, which other providers can ignore without loss. */
const HINTS: ReadonlySet<string> = new Set<string>(["cache_control", "context_management", "service_tier"]);

/** Reads these settings. @param betas Value of the header `anthropic-beta`. */
export function readProviderSettings(
  fields: Fields,
  betas: string | undefined,
  context: ReadingContext,
): ProviderSettings {
  const { served } = context;
  if (isAnthropic(context)) {
    const rest = Object.entries(fields.value).filter(
      ([name, value]) => value !== null && !READ_ELSEWHERE.has(name),
    );
    const options = { ...Object.fromEntries(rest), ...(betas === undefined ? {} : { beta_headers: betas }) };
    return { providerOptionsJson: createOptions(served, withoutFormat(options)), reasoningEffort: "" };
  }
  const topK = fields.integer("top_k", { min: 0 });
  const isGemini = served.api === "gemini";
  const read = ["thinking", "output_config", "output_format", ...(isGemini ? ["top_k"] : [])];
  for (const name of Object.keys(fields.value)) {
    if (READ_ELSEWHERE.has(name) || HINTS.has(name) || read.includes(name) || !fields.has(name)) continue;
    context.warnAboutSetting(name);
  }
  const options: JsonObject = isGemini && topK !== undefined ? { generationConfig: { topK } } : {};
  return { providerOptionsJson: createOptions(served, options), reasoningEffort: readEffort(fields) };
}

/** The format is a field of the contract, which the adapter writes. */
function withoutFormat({ output_format: _, output_config: config, ...rest }: JsonObject): JsonObject {
  if (typeof config !== "object" || config === null || Array.isArray(config)) return rest;
  const { format: _format, ...kept } = config as JsonObject;
  return Object.keys(kept).length === 0 ? rest : { ...rest, output_config: kept };
}

/** Returns the reasoning effort: the one in the request, or an effort for the thinking budget. */
function readEffort(fields: Fields): string {
  const effort = fields.object("output_config")?.string("effort", { max: 64 });
  const thinking = fields.object("thinking");
  if (thinking?.get("type") === "disabled") return "none";
  if (effort !== undefined) return effort;
  const budget = thinking?.integer("budget_tokens", { min: 1 });
  return budget === undefined ? "" : toEffort(budget);
}
