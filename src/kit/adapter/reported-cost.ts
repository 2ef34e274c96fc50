import { objectIn } from "../json/json.ts";

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
export function reportedCostIn({ cost, cost_in_usd_ticks: ticks }: ReportedCost): bigint | undefined {
  const dollars = typeof cost === "number" ? cost : objectIn<{ total_cost: number }>(cost).total_cost;
  const nanos =
    typeof ticks === "number"
      ? ticks * NANOS_PER_XAI_TICK
      : typeof dollars === "number"
        ? dollars * NANOS_PER_USD
        : Number.NaN;
  return nanos >= 0 && nanos <= Number.MAX_SAFE_INTEGER ? BigInt(Math.round(nanos)) : undefined;
}
