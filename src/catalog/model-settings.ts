import { compact } from "../core/compact.ts";
import { ConfigurationError } from "../core/errors.ts";
import type { CapabilityWord, CatalogEntry, PriceTier } from "./catalog-data.ts";
import type { ModelTraits, TraitsEntry } from "./model-traits.ts";

/** Prices in US dollars per million tokens. One that is left out is unknown; 0 is free. */
export interface ModelPrices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
  /** Cache writes with a longer lifetime, if they cost more: one hour at Anthropic. */
  readonly cacheWriteLong?: number | undefined;
  /** The prices apply to prompts of more input tokens than this. Default 0. */
  readonly aboveInputTokens?: number | undefined;
}

/** An additional model, or changes to a shipped one. Only the id and the provider are required. */
export interface ModelSettings {
  /** Id that the provider gives the model. */
  readonly id: string;
  /** Name under which the provider is registered, or name of a provider in the shipped catalog. */
  readonly provider: string;
  readonly displayName?: string | undefined;
  /** Other names that resolve to this model. */
  readonly aliases?: readonly string[] | undefined;
  /** Maximum number of tokens of prompt and answer together. */
  readonly contextWindow?: number | undefined;
  /** Maximum number of tokens of an answer. */
  readonly maxOutputTokens?: number | undefined;
  readonly capabilities?: readonly CapabilityWord[] | undefined;
  /** Day of release, `YYYY-MM-DD`. */
  readonly releaseDate?: string | undefined;
  /** Day on which the provider stops serving it, `YYYY-MM-DD`. */
  readonly endOfLifeDate?: string | undefined;
  /** Whether it is a preview, which counts as the latest model only if there is no stable one. Default false. */
  readonly preview?: boolean | undefined;
  /** One set of prices, or one for each size of a prompt, smallest first. */
  readonly prices?: ModelPrices | readonly ModelPrices[] | undefined;
  /** Traits of the model that differ from its family. */
  readonly traits?: Partial<ModelTraits> | undefined;
}

/**
 * Converts the settings of a model to an entry of the catalog.
 * @param field Path of the settings, for errors.
 * @throws ConfigurationError naming a value that cannot be right.
 */
export function toEntry(settings: ModelSettings, field: string): CatalogEntry {
  const { id, provider } = settings;
  checkName(id, `${field}.id`);
  checkName(provider, `${field}.provider`);
  return {
    id,
    provider,
    ...compact({
      display_name: settings.displayName,
      aliases: settings.aliases,
      context_window: converted(settings.contextWindow, tokens, `${field}.contextWindow`),
      max_output_tokens: converted(settings.maxOutputTokens, tokens, `${field}.maxOutputTokens`),
      capabilities: settings.capabilities,
      release_date: settings.releaseDate,
      end_of_life_date: settings.endOfLifeDate,
      preview: settings.preview,
      prices: converted(settings.prices, toPrices, `${field}.prices`),
      traits: converted(settings.traits, toTraitsEntry, `${field}.traits`),
    }),
  };
}

function toPrices(prices: NonNullable<ModelSettings["prices"]>, field: string): readonly PriceTier[] {
  const tiers = "input" in prices ? [prices] : prices;
  return tiers.map((tier, index) => toTier(tier, `${field}[${index}]`));
}

function toTier(prices: ModelPrices, field: string): PriceTier {
  const { aboveInputTokens = 0 } = prices;
  const price = (name: "input" | "output") => microUsd(prices[name], `${field}.${name}`);
  const optional = (name: "cacheRead" | "cacheWrite" | "cacheWriteLong") =>
    converted(prices[name], microUsd, `${field}.${name}`);
  return {
    above_input_tokens: aboveInputTokens === 0 ? 0 : tokens(aboveInputTokens, `${field}.aboveInputTokens`),
    input_micro_usd_per_million_tokens: price("input"),
    output_micro_usd_per_million_tokens: price("output"),
    ...compact({
      cache_read_micro_usd_per_million_tokens: optional("cacheRead"),
      cache_write_micro_usd_per_million_tokens: optional("cacheWrite"),
      cache_write_long_micro_usd_per_million_tokens: optional("cacheWriteLong"),
    }),
  };
}

function converted<Setting, Value>(
  setting: Setting | undefined,
  convert: (setting: Setting, field: string) => Value,
  field: string,
): Value | undefined {
  return setting === undefined ? undefined : convert(setting, field);
}

/** Data files write the names of traits in snake case. */
function toTraitsEntry(traits: Partial<ModelTraits>): TraitsEntry {
  const entries = Object.entries(compact(traits));
  return Object.fromEntries(entries.map(([name, value]) => [toSnakeCase(name), value])) as TraitsEntry;
}

/** Returns a name of code as data files and logs write it: `maxTokens` as `max_tokens`. */
export function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function checkName(value: unknown, field: string): void {
  if (typeof value === "string" && value.trim() !== "") return;
  throw new ConfigurationError(
    `${field}: expected a name, found ${value === "" ? "an empty one" : typeof value}`,
  );
}

function tokens(value: number, field: string): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new ConfigurationError(`${field}: expected a whole number of tokens from 1, found ${value}`);
}

function microUsd(dollars: number, field: string): number {
  if (dollars >= 0 && dollars < Infinity) return Math.round(dollars * 1_000_000);
  throw new ConfigurationError(`${field}: expected US dollars per million tokens from 0, found ${dollars}`);
}
