import type { TraitsEntry } from "./model-traits.ts";

/** The capabilities of models, as data files name them. */
export const capabilityWords = [
  "tools",
  "image_input",
  "reasoning",
  "audio_input",
  "document_input",
  "structured_output",
  "sampling",
  "prompt_caching",
  "embeddings",
] as const;

/** A capability of a model. Others follow from its traits. */
export type CapabilityWord = (typeof capabilityWords)[number];

/**
 * Prices for prompts above some size, in millionths of a US dollar per million tokens. An absent price is unknown; 0
 * means that the provider charges nothing.
 */
export interface PriceTier {
  /** The tier applies to prompts of more input tokens than this. 0 in the lowest tier. */
  readonly above_input_tokens: number;
  readonly input_micro_usd_per_million_tokens: number;
  readonly output_micro_usd_per_million_tokens: number;
  readonly cache_read_micro_usd_per_million_tokens?: number;
  readonly cache_write_micro_usd_per_million_tokens?: number;
  /** Cache writes with a longer lifetime, if they cost more: one hour at Anthropic. */
  readonly cache_write_long_micro_usd_per_million_tokens?: number;
}

/** Prices that apply from a day on. */
export interface PriceChange {
  /** The day, `YYYY-MM-DD`, by UTC. */
  readonly from: string;
  /** The tiers from then on, lowest first. */
  readonly prices: readonly PriceTier[];
}

/** An entry of the catalog or of a configuration. Only the id and the provider are required. */
export interface CatalogEntry {
  /** Id that the provider gives the model. */
  readonly id: string;
  /** Provider that serves it: `openai`, `anthropic`, `gemini`, ... */
  readonly provider: string;
  /** Human-readable name. Defaults to the id. */
  readonly display_name?: string;
  /** Maximum number of tokens of prompt and answer together. */
  readonly context_window?: number;
  /** Maximum number of tokens of an answer. */
  readonly max_output_tokens?: number;
  /** Number of dimensions of the vectors of an embedding model. */
  readonly embedding_dimensions?: number;
  /** Other names that resolve to this model. */
  readonly aliases?: readonly string[];
  /** Capabilities that do not follow from its traits. */
  readonly capabilities?: readonly CapabilityWord[];
  /** Day of release, `YYYY-MM-DD`. */
  readonly release_date?: string;
  /** Day on which the provider stops serving it, `YYYY-MM-DD`. */
  readonly end_of_life_date?: string;
  /** Whether the provider calls it a preview. */
  readonly preview?: boolean;
  /** Price tiers, lowest first. */
  readonly prices?: readonly PriceTier[];
  /** Announced changes of the prices, earliest first. */
  readonly price_changes?: readonly PriceChange[];
  /** Traits that differ from the traits of the model's family. */
  readonly traits?: TraitsEntry;
}

/** How a provider writes the ids of its models. */
export interface ProviderNaming {
  readonly provider: string;
  /** Prefixes that do not change the meaning of an id, for instance `models/`. */
  readonly id_prefixes?: readonly string[];
  /** Suffixes that name one snapshot of a model; `#` is a digit. */
  readonly snapshots?: readonly string[];
}

/** Traits of all models whose ids match a pattern. */
export interface ModelFamily {
  readonly provider: string;
  /** `*` is any text, `#` is a digit. */
  readonly patterns: readonly string[];
  readonly traits: TraitsEntry;
}

/** A catalog as a data file. */
export interface CatalogData {
  /** Source of prices and context windows. */
  readonly source: string;
  readonly source_version: string;
  /** Day on which the source was read. */
  readonly retrieved_at: string;
  /** Day on which everything else was last checked by hand. */
  readonly reviewed_at: string;
  /** The source's licence, in full. */
  readonly licence: string;
  readonly providers: readonly ProviderNaming[];
  /** A model belongs to the first family that matches its id. */
  readonly families: readonly ModelFamily[];
  readonly models: readonly CatalogEntry[];
}
