import type { TraitsEntry } from "./model-traits.ts";

/** Something that a model can do, by the words that data files use. The rest follows from its traits. */
export type CapabilityWord =
  | "tools"
  | "image_input"
  | "reasoning"
  | "audio_input"
  | "document_input"
  | "structured_output"
  | "sampling"
  | "prompt_caching";

/**
 * Prices from some size of prompt on, in millionths of a US dollar per million tokens. A price
 * that is left out is unknown; where the provider charges nothing it is 0.
 */
export interface PriceTier {
  /** The tier holds for prompts of more input tokens than this. 0 in the lowest tier. */
  readonly above_input_tokens: number;
  readonly input_micro_usd_per_million_tokens: number;
  readonly output_micro_usd_per_million_tokens: number;
  readonly cache_read_micro_usd_per_million_tokens?: number;
  readonly cache_write_micro_usd_per_million_tokens?: number;
  /** Writes that the provider keeps longer, where they cost more: one hour at Anthropic. */
  readonly cache_write_long_micro_usd_per_million_tokens?: number;
}

/** Prices that hold from a day on. */
export interface PriceChange {
  /** The day, `YYYY-MM-DD`, by UTC. */
  readonly from: string;
  /** The tiers from then on, lowest first. */
  readonly prices: readonly PriceTier[];
}

/** What the catalog, or a configuration, says of one model. Only the id and the provider must be there. */
export interface CatalogEntry {
  /** The provider's own id. */
  readonly id: string;
  /** Provider that serves it: `openai`, `anthropic`, `gemini`, ... */
  readonly provider: string;
  /** Name for people. The id where it is left out. */
  readonly display_name?: string;
  /** Most tokens of prompt and answer together. */
  readonly context_window?: number;
  /** Most tokens of an answer. */
  readonly max_output_tokens?: number;
  /** Other names that resolve to this model. */
  readonly aliases?: readonly string[];
  /** What it can do beside what its traits tell. */
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
  /** In what it differs from its family. */
  readonly traits?: TraitsEntry;
}

/** How a provider writes the ids of its models. */
export interface ProviderNaming {
  readonly provider: string;
  /** What may stand before an id without changing it, for instance `models/`. */
  readonly id_prefixes?: readonly string[];
  /** What follows an id to name one snapshot of the model; `#` is a digit. */
  readonly snapshots?: readonly string[];
}

/** Traits of all models whose ids look alike. */
export interface ModelFamily {
  readonly provider: string;
  /** `*` is any text, `#` is a digit. */
  readonly patterns: readonly string[];
  readonly traits: TraitsEntry;
}

/** A catalog as a data file. */
export interface CatalogData {
  /** Where prices and context windows come from. */
  readonly source: string;
  readonly source_version: string;
  /** Day on which the source was read. */
  readonly retrieved_at: string;
  /** Day on which everything else was last checked by hand. */
  readonly reviewed_at: string;
  /** The source's licence, in full. */
  readonly licence: string;
  readonly providers: readonly ProviderNaming[];
  /** The first family that fits a model is the model's. */
  readonly families: readonly ModelFamily[];
  readonly models: readonly CatalogEntry[];
}
