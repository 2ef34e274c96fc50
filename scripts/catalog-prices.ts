import type { ConditionalPrice, ModelInfo, ModelPrice, TieredPrices } from "@pydantic/genai-prices";
import type { PriceChange, PriceTier } from "../src/catalog/catalog-data.ts";

/** A model's prices in the catalog. */
export interface Prices {
  readonly prices: readonly PriceTier[];
  readonly price_changes: readonly PriceChange[];
}

/** How the source's prices are read. */
export interface PriceRules {
  /** Day on which the source was read; earlier price changes are omitted. */
  readonly day: string;
  /** Tiers that begin beyond it are omitted, since they never apply. */
  readonly contextWindow: number;
  /** Wrong thresholds of tiers in the source, and the right ones. */
  readonly tierCorrections: Readonly<Record<string, number>>;
  /** Whether the model embeds texts, so that its output costs nothing. */
  readonly embeds?: boolean;
}

/** The source's prices for text, and the fields that keep them. */
const fields = {
  input_mtok: "input_micro_usd_per_million_tokens",
  output_mtok: "output_micro_usd_per_million_tokens",
  cache_read_mtok: "cache_read_micro_usd_per_million_tokens",
  cache_write_mtok: "cache_write_micro_usd_per_million_tokens",
  cache_write_1h_mtok: "cache_write_long_micro_usd_per_million_tokens",
} as const;

/** Prices of anything but text, which are not in the catalog. */
const otherUnits = /_(kcount|hours|kpages|gpixels|mchars)$|(audio|image|video)/;

/**
 * Reads the prices of a model.
 * @throws Error that names the model if the source has a form that is not supported.
 */
export function readPrices(model: ModelInfo, rules: PriceRules): Prices {
  const periods = Array.isArray(model.prices) ? model.prices : [{ prices: model.prices }];
  const dated = periods.map((period) => ({
    from: getStart(model, period),
    prices: toTiers(model, period.prices, rules),
  }));
  const current = dated.findLast(({ from }) => from <= rules.day);
  if (current === undefined) throw new Error(`${model.id}: no price applies on ${rules.day}`);
  return { prices: current.prices, price_changes: dated.filter(({ from }) => from > rules.day) };
}

/**
 * Converts a dollar price per million tokens to millionths of a dollar. @throws Error if the result is not a whole
 * number.
 */
export function microUsd(dollars: number, what: string): number {
  const micros = Math.round(dollars * 1e6);
  if (!(dollars >= 0) || Math.abs(dollars * 1e6 - micros) > 1e-6) {
    throw new Error(`${what}: expected dollars with at most six decimals, found ${dollars}`);
  }
  return micros;
}

function getStart(model: ModelInfo, { constraint }: ConditionalPrice): string {
  if (constraint === undefined) return "";
  if (constraint.type === "start_date") return constraint.start_date;
  throw new Error(`${model.id}: prices by time of day are not supported`);
}

function toTiers(model: ModelInfo, prices: ModelPrice, rules: PriceRules): PriceTier[] {
  const unknown = Object.keys(prices).filter((key) => !(key in fields) && !otherUnits.test(key));
  if (unknown.length > 0) throw new Error(`${model.id}: unknown prices ${unknown.join(", ")}`);
  const starts = new Set([0]);
  for (const key of Object.keys(fields)) for (const { start } of asTiers(prices[key])) starts.add(start);
  return [...starts]
    .sort((left, right) => left - right)
    .filter((start) => start < rules.contextWindow)
    .map((start) => tierAt(model, prices, start, rules));
}

function tierAt(model: ModelInfo, prices: ModelPrice, start: number, rules: PriceRules): PriceTier {
  const tier: Record<string, number> = { above_input_tokens: rules.tierCorrections[start] ?? start };
  for (const [key, field] of Object.entries(fields)) {
    const dollars = asTiers(prices[key]).findLast((at) => at.start <= start)?.price;
    if (dollars !== undefined) tier[field] = microUsd(dollars, `${model.id}, ${key}`);
  }
  const {
    above_input_tokens = 0,
    input_micro_usd_per_million_tokens,
    output_micro_usd_per_million_tokens = rules.embeds ? 0 : undefined,
  } = tier;
  if (input_micro_usd_per_million_tokens === undefined || output_micro_usd_per_million_tokens === undefined) {
    throw new Error(`${model.id}: expected prices for input and output`);
  }
  return {
    ...tier,
    above_input_tokens,
    input_micro_usd_per_million_tokens,
    output_micro_usd_per_million_tokens,
  };
}

function asTiers(price: number | TieredPrices | undefined): { start: number; price: number }[] {
  if (price === undefined) return [];
  if (typeof price === "number") return [{ start: 0, price }];
  return [{ start: 0, price: price.base }, ...price.tiers];
}
