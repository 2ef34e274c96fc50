import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { warning } from "../call/loss-report.ts";
import { asObject, isObject, type JsonObject, objectIn, withoutNulls } from "../json/json.ts";

/** Token counts as `Usage` defines them for every provider. Counts that a provider does not report are left out. */
export interface UsageCounts {
  /** All tokens of the prompt, cached ones included. */
  readonly inputTokens: number;
  /** All tokens that the model generated, reasoning included. */
  readonly outputTokens: number;
  readonly reasoningTokens?: number | undefined;
  readonly cacheReadTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
  /** The cost that the provider reports, in billionths of a dollar. */
  readonly costNanoUsd?: bigint | undefined;
}

/**
 * Creates the usage of a call, with the sum of its tokens.
 * @param raw The counts as the provider sent them, if the request asks for them.
 */
export function createUsage(counts: UsageCounts, raw?: object): Usage {
  const { inputTokens, outputTokens, reasoningTokens, cacheReadTokens, cacheWriteTokens, costNanoUsd } =
    counts;
  const usage: Usage = {
    $typeName: "outrigger.v1.Usage",
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    rawJson: raw === undefined ? "" : JSON.stringify(raw),
    costIncomplete: false,
  };
  if (reasoningTokens !== undefined) usage.reasoningTokens = reasoningTokens;
  if (cacheReadTokens !== undefined) usage.cacheReadTokens = cacheReadTokens;
  if (cacheWriteTokens !== undefined) usage.cacheWriteTokens = cacheWriteTokens;
  if (costNanoUsd !== undefined) usage.costNanoUsd = costNanoUsd;
  return usage;
}

/**
 * Merges the counts of a stream so far. They are cumulative; a count that a later event omits or sets to null is
 * unchanged.
 * @param earlier The counts so far. They are changed in place, since copying them for each event would take quadratic
 *   time.
 */
export function mergeUsage<T>(
  earlier: Untrusted<T> | undefined,
  reported: unknown,
): Untrusted<T> | undefined {
  const counts = asObject(reported);
  if (counts === undefined) return earlier;
  return Object.assign(earlier ?? {}, withoutNulls(counts)) as Untrusted<T>;
}

/**
 * Returns a warning if the usage that a provider sent holds a negative count, since the contract has none. Counts are
 * fields of the usage and of the objects in it.
 */
export function findNegativeCounts(usage: unknown): readonly Warning[] {
  return hasNegative(objectIn(usage), 2)
    ? [warning("usage", "count_mismatch", "the provider sent a negative count; it was left out")]
    : [];
}

function hasNegative(counts: JsonObject, levels: number): boolean {
  for (const name in counts) {
    const count = counts[name];
    if (typeof count === "number" && count < 0) return true;
    if (levels > 1 && isObject(count) && hasNegative(count, levels - 1)) return true;
  }
  return false;
}

const NANOS_PER_USD = 1e9;
const NANOS_PER_XAI_TICK = 0.1;

/** The cost of a call, for servers that report it in their usage. */
export interface ReportedCost {
  /** In dollars: OpenRouter ("Usage accounting"); an object at Perplexity ("Chat completions"). */
  readonly cost?: unknown;
  /** In 1e-10 dollars: xAI ("Chat completions", "Responses"). */
  readonly cost_in_usd_ticks?: unknown;
}

/** Returns the reported cost in billionths of a dollar; undefined if there is none. */
export function readReportedCost({ cost, cost_in_usd_ticks: ticks }: ReportedCost): bigint | undefined {
  const dollars = typeof cost === "number" ? cost : objectIn<{ total_cost: number }>(cost).total_cost;
  const nanos =
    typeof ticks === "number"
      ? ticks * NANOS_PER_XAI_TICK
      : typeof dollars === "number"
        ? dollars * NANOS_PER_USD
        : Number.NaN;
  return nanos >= 0 && nanos <= Number.MAX_SAFE_INTEGER ? BigInt(Math.round(nanos)) : undefined;
}
