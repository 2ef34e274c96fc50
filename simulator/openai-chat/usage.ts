import type { Usage } from "../../src/wire/openai-chat/response.ts";
import type { ModelOptions } from "../model-options.ts";
import type { Turn } from "../script/turn.ts";

/** Token counts of one request so far. */
export interface Counts {
  readonly usage: Turn["usage"];
  /** Tokens written so far, in all choices, including reasoning. */
  readonly written: number;
  /** Reasoning tokens among the written ones. */
  readonly reasoning: number;
}

/** Returns the token counts of a complete answer. The prompt counts once for all choices. */
export function finalCounts({ usage }: Turn, choices: number): Counts {
  return { usage, written: usage.outputTokens * choices, reasoning: usage.reasoningTokens * choices };
}

/** Returns the token counts of a stream so far; reasoning comes first. */
export function countsSoFar(final: Counts, written: number): Counts {
  return {
    ...final,
    written: Math.min(written, final.written),
    reasoning: Math.min(written, final.reasoning),
  };
}

/** Returns the `usage` of an answer, in the fields of a server. */
export function toUsage(counts: Counts, fields: ModelOptions["usage_fields"] = "openai"): Usage {
  const { usage, written, reasoning } = counts;
  const { inputTokens, cachedTokens, cacheWriteTokens } = usage;
  const totals = {
    prompt_tokens: inputTokens,
    completion_tokens: written,
    total_tokens: inputTokens + written,
  };
  const promptDetails = { cached_tokens: cachedTokens, audio_tokens: 0 };
  switch (fields) {
    case "openai":
      return {
        ...totals,
        prompt_tokens_details: promptDetails,
        completion_tokens_details: details(reasoning),
      };
    case "openrouter":
      return {
        ...totals,
        cost: (inputTokens + 4 * written) / 1_000_000,
        is_byok: false,
        prompt_tokens_details: { ...promptDetails, cache_write_tokens: cacheWriteTokens },
        completion_tokens_details: { reasoning_tokens: reasoning },
      };
    case "deepseek":
      return {
        ...totals,
        prompt_tokens_details: { cached_tokens: cachedTokens },
        completion_tokens_details: { reasoning_tokens: reasoning },
        prompt_cache_hit_tokens: cachedTokens,
        prompt_cache_miss_tokens: inputTokens - cachedTokens,
      };
    case "moonshot":
      return { ...totals, cached_tokens: cachedTokens };
    case "xai":
      return {
        ...totals,
        completion_tokens: written - reasoning,
        prompt_tokens_details: promptDetails,
        completion_tokens_details: details(reasoning),
      };
    default:
      return fields satisfies never;
  }
}

function details(reasoning: number): Usage["completion_tokens_details"] & object {
  return {
    reasoning_tokens: reasoning,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  };
}
