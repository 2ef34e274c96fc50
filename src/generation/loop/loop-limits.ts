import { hasUnknownCost } from "../../core/usage.ts";
import { GenerateResult_StopReason as StopReason } from "../../gen/outrigger/v1/generation_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";

/**
 * Limits of a generation, over all steps. Checked between steps, so that the last step may exceed a limit; no tool is
 * executed and no further call is made once one is reached. An absent limit does not apply.
 */
export interface GenerationLimits {
  /** Maximum number of model calls. */
  readonly maxSteps?: number | undefined;
  /** Maximum total tokens of all steps. */
  readonly maxTotalTokens?: number | bigint | undefined;
  /**
   * Maximum cost of all steps in billionths of a US dollar. After a step whose price is unknown the generation fails
   * with a ConfigurationError instead of continuing, unless `allowUnknownPrices` is set.
   */
  readonly maxCostNanoUsd?: number | bigint | undefined;
  /** Maximum number of tool calls that are executed. */
  readonly maxToolCalls?: number | undefined;
  /** Whether steps whose price is unknown count as free for `maxCostNanoUsd`. Default false. */
  readonly allowUnknownPrices?: boolean | undefined;
}

/** The usage of a generation so far. */
export interface LoopUse {
  readonly steps: number;
  readonly usage: Usage | undefined;
  /** Number of tool calls, including the latest step. */
  readonly toolCalls: number;
}

/** Returns the limit that forbids executing the calls of the latest step. Undefined if none does. */
export function limitReached(limits: GenerationLimits, use: LoopUse): StopReason | undefined {
  const { maxSteps, maxTotalTokens, maxCostNanoUsd, maxToolCalls } = limits;
  if (isReached(maxSteps, use.steps)) return StopReason.MAX_STEPS;
  if (isReached(maxTotalTokens, use.usage?.totalTokens ?? 0)) return StopReason.MAX_TOTAL_TOKENS;
  if (isReached(maxCostNanoUsd, use.usage?.costNanoUsd ?? 0n)) return StopReason.MAX_COST;
  if (maxToolCalls !== undefined && use.toolCalls > maxToolCalls) return StopReason.MAX_TOOL_CALLS;
  return undefined;
}

/** Reports whether `maxCostNanoUsd` cannot be checked, since the price of a step is unknown. */
export function isCostUnknown({ maxCostNanoUsd }: GenerationLimits, usage: Usage | undefined): boolean {
  return maxCostNanoUsd !== undefined && (usage === undefined || hasUnknownCost(usage));
}

/**
 * Returns the field of the limit that ended a generation whose model still called tools. Undefined for other reasons.
 */
export function limitField(reason: StopReason): string | undefined {
  switch (reason) {
    case StopReason.MAX_TOOL_ROUNDS:
      return "max_tool_rounds";
    case StopReason.MAX_STEPS:
      return "limits.max_steps";
    case StopReason.MAX_TOTAL_TOKENS:
      return "limits.max_total_tokens";
    case StopReason.MAX_COST:
      return "limits.max_cost_nano_usd";
    case StopReason.MAX_TOOL_CALLS:
      return "limits.max_tool_calls";
    default:
      return undefined;
  }
}

function isReached(limit: number | bigint | undefined, used: number | bigint): boolean {
  return limit !== undefined && used >= limit;
}
