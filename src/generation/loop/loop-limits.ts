import { hasUnknownCost } from "../../core/usage.ts";
import { GenerateResult_StopReason as StopReason } from "../../gen/outrigger/v1/generation_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";

/**
 * What a generation may use, over all steps. Checked between steps, so that the last step may exceed a limit; no tool is
 * executed and no further call is made once one is reached. A limit that is absent is none.
 */
export interface GenerationLimits {
  /** Calls of the model, at most. */
  readonly maxSteps?: number | undefined;
  /** Total tokens of all steps, at most. */
  readonly maxTotalTokens?: number | bigint | undefined;
  /**
   * Cost of all steps in billionths of a US dollar, at most. After a step whose price is unknown the generation fails
   * with a ConfigurationError instead of going on, unless `allowUnknownPrices` is set.
   */
  readonly maxCostNanoUsd?: number | bigint | undefined;
  /** Tool calls that are executed, at most. */
  readonly maxToolCalls?: number | undefined;
  /** Whether steps whose price is unknown count as free for `maxCostNanoUsd`. Default false. */
  readonly allowUnknownPrices?: boolean | undefined;
}

/** What a generation has used so far. */
export interface LoopUse {
  readonly steps: number;
  readonly usage: Usage | undefined;
  /** Tool calls, those of the latest step included. */
  readonly toolCalls: number;
}

/** The limit that forbids to execute the calls of the latest step. Undefined where none does. */
export function limitReached(limits: GenerationLimits, use: LoopUse): StopReason | undefined {
  const { maxSteps, maxTotalTokens, maxCostNanoUsd, maxToolCalls } = limits;
  if (isReached(maxSteps, use.steps)) return StopReason.MAX_STEPS;
  if (isReached(maxTotalTokens, use.usage?.totalTokens ?? 0)) return StopReason.MAX_TOTAL_TOKENS;
  if (isReached(maxCostNanoUsd, use.usage?.costNanoUsd ?? 0n)) return StopReason.MAX_COST;
  if (maxToolCalls !== undefined && use.toolCalls > maxToolCalls) return StopReason.MAX_TOOL_CALLS;
  return undefined;
}

/** Whether nobody can say whether `maxCostNanoUsd` is reached, since the price of a step is unknown. */
export function isCostUnknown({ maxCostNanoUsd }: GenerationLimits, usage: Usage | undefined): boolean {
  return maxCostNanoUsd !== undefined && (usage === undefined || hasUnknownCost(usage));
}

/** The field of the limit that ended a generation whose model still called tools. Undefined for other reasons. */
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
