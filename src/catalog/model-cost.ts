import type { Usage } from "../gen/outrigger/v1/usage_pb.ts";
import type { CatalogEntry, PriceTier } from "./catalog-data.ts";

/** The inputs of a price in addition to `Usage`. */
export interface CostOptions {
  /** Time of the call, since prices change. Defaults to now. */
  readonly at?: Date;
  /**
   * The part of `Usage.cache_write_tokens` with a longer lifetime at another price: Anthropic's
   * `cache_creation.ephemeral_1h_input_tokens`. Defaults to 0.
   */
  readonly longCacheWriteTokens?: number;
}

/** Returns the day of a moment by UTC, `YYYY-MM-DD`. */
export function toDay(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}

/** Returns the price tiers of a model on a day, lowest first. Empty if unknown. */
export function pricesOn(entry: CatalogEntry, day: string): readonly PriceTier[] {
  const change = entry.price_changes?.findLast(({ from }) => from <= day);
  return change?.prices ?? entry.prices ?? [];
}

/** Like {@link pricesOn}, for a time. Few prices change, and computing the day takes longer than looking up a price. */
export function pricesAt(entry: CatalogEntry, moment: Date): readonly PriceTier[] {
  const { price_changes: changes = [], prices = [] } = entry;
  return changes.length === 0 ? prices : pricesOn(entry, toDay(moment));
}

/**
 * Returns the price of a call in billionths of a US dollar, rounded half up once at the end. The tier is chosen by the
 * whole prompt, cached tokens included, and applies to the whole call.
 *
 * Undefined if a required price is unknown, or if the counts contradict each other (more cached tokens than input
 * tokens). Covers tokens of text, at the provider's standard service: hosted tools, audio, priority and batch prices
 * are not included.
 */
export function costWith(
  tiers: readonly PriceTier[],
  usage: Usage,
  longCacheWriteTokens = 0,
): bigint | undefined {
  const tier = tiers.findLast(({ above_input_tokens: above }) => usage.inputTokens > above) ?? tiers[0];
  if (tier === undefined) return undefined;
  const read = usage.cacheReadTokens ?? 0;
  const written = usage.cacheWriteTokens ?? 0;
  return addCosts([
    [usage.inputTokens - read - written, tier.input_micro_usd_per_million_tokens],
    [read, tier.cache_read_micro_usd_per_million_tokens],
    [written - longCacheWriteTokens, tier.cache_write_micro_usd_per_million_tokens],
    [longCacheWriteTokens, tier.cache_write_long_micro_usd_per_million_tokens],
    [usage.outputTokens, tier.output_micro_usd_per_million_tokens],
  ]);
}

/**
 * Tokens times millionths of a dollar per million tokens are trillionths of a dollar: 1000 of these are a billionth.
 */
function addCosts(
  items: readonly (readonly [tokens: number, price: number | undefined])[],
): bigint | undefined {
  let sum = 0n;
  for (const [tokens, price] of items) {
    if (tokens < 0) return undefined;
    if (tokens === 0) continue;
    if (price === undefined) return undefined;
    sum += BigInt(tokens) * BigInt(price);
  }
  return (sum + 500n) / 1000n;
}
