/**
 * Converts token counts with the names that servers use (provider documentation: "The chat completion object",
 * `usage`).
 */
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { createUsage, findNegativeCounts, mergeUsage, readReportedCost } from "../../kit/adapter/usage.ts";
import { warning } from "../../kit/call/loss-report.ts";
import { asCount, asObject, objectIn } from "../../kit/json/json.ts";
import type {
  CompletionExtensions,
  PromptTokensDetails,
  Usage as WireUsage,
} from "../../wire/openai-chat/response.ts";
import type { AnyChoice, AnyCompletion } from "../../wire/openai-chat/stream.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** Details of the output tokens. */
type OutputDetails = NonNullable<WireUsage["completion_tokens_details"]>;

/** Token counts as received. */
type Counts = Untrusted<WireUsage>;

/**
 * Finds the counts of a whole answer or of a chunk, wherever the server puts them: at the top, under `x_groq` (Groq) or
 * in the choice (Moonshot). Undefined if there are none.
 */
export function findCounts(
  chunk: Untrusted<AnyCompletion>,
  [choice]: readonly Untrusted<AnyChoice>[],
): Counts | undefined {
  return (
    asObject<WireUsage>(chunk.usage) ??
    asObject<WireUsage>(asObject<CompletionExtensions["x_groq"]>(chunk.x_groq)?.usage) ??
    asObject<WireUsage>(choice?.usage)
  );
}

/**
 * Merges the counts of a stream so far: some servers report the tokens of the prompt and of the answer in different
 * chunks. The total belongs to the counts alongside it.
 */
export function mergeCounts(earlier: Counts | undefined, later: Counts | undefined): Counts | undefined {
  const merged = mergeUsage(earlier, later);
  return merged === undefined || toUsage(later, false, false) === undefined
    ? merged
    : Object.assign(merged, { total_tokens: later?.total_tokens });
}

/**
 * Converts token counts. `input_tokens` of these servers already includes cached tokens. `output_tokens` includes
 * reasoning, except at xAI, which counts it separately; its total shows that. Undefined if the server sent neither
 * count.
 * @param isInTotal Whether reasoning is only in the total.
 */
export function toUsage(
  counts: Counts | undefined,
  includeRaw: boolean,
  isInTotal: boolean,
): Usage | undefined {
  if (counts === undefined) return undefined;
  const input = asCount(counts.prompt_tokens) ?? asCount(counts.input_tokens);
  const written = asCount(counts.completion_tokens) ?? asCount(counts.output_tokens);
  if (input === undefined && written === undefined) return undefined;
  const inputTokens = input ?? 0;
  const rest = (asCount(counts.total_tokens) ?? 0) - inputTokens - (written ?? 0);
  const reasoningTokens = getReasoningTokens(counts) ?? (isInTotal && rest > 0 ? rest : undefined);
  const converted = {
    inputTokens,
    // Reasoning that the server does not include in its output tokens makes its total larger by its number.
    outputTokens: (written ?? 0) + (rest > 0 && rest === reasoningTokens ? rest : 0),
    reasoningTokens,
    cacheReadTokens: getCacheReadTokens(counts),
    cacheWriteTokens: getCacheWriteTokens(counts),
    costNanoUsd: readReportedCost(counts),
  };
  return createUsage(converted, includeRaw ? counts : undefined);
}

function getReasoningTokens(counts: Counts): number | undefined {
  return firstCount(
    objectIn<OutputDetails>(counts.completion_tokens_details).reasoning_tokens,
    objectIn<OutputDetails>(counts.output_tokens_details).reasoning_tokens,
    counts.reasoning_tokens,
  );
}

function getCacheReadTokens(counts: Counts): number | undefined {
  return firstCount(
    objectIn<PromptTokensDetails>(counts.prompt_tokens_details).cached_tokens,
    objectIn<PromptTokensDetails>(counts.input_tokens_details).cached_tokens,
    counts.prompt_cache_hit_tokens,
    counts.cached_tokens,
    counts.num_cached_tokens,
    counts.cache_read_input_tokens,
  );
}

function getCacheWriteTokens(counts: Counts): number | undefined {
  const details = objectIn<PromptTokensDetails>(counts.prompt_tokens_details);
  return firstCount(
    details.cache_write_tokens,
    details.cache_creation_input_tokens,
    objectIn<PromptTokensDetails>(counts.input_tokens_details).cache_write_tokens,
    counts.cache_creation_input_tokens,
  );
}

function firstCount(...values: readonly unknown[]): number | undefined {
  return values.map(asCount).find((count) => count !== undefined);
}

/** Returns warnings about counts that contradict each other. The counts stay as the server sent them. */
export function findMismatches(counts: Counts | undefined, usage: Usage | undefined): readonly Warning[] {
  if (counts === undefined || usage === undefined) return findNegativeCounts(counts);
  const { inputTokens, outputTokens, totalTokens, reasoningTokens = 0 } = usage;
  const cached = (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
  const total = asCount(counts.total_tokens) ?? totalTokens;
  return [
    ...findNegativeCounts(counts),
    ...(total === totalTokens
      ? []
      : [mismatch(`a total of ${total}, but input and output add up to ${totalTokens}`)]),
    ...(cached <= inputTokens ? [] : [mismatch(`${cached} cached tokens of ${inputTokens} in the prompt`)]),
    ...(reasoningTokens <= outputTokens
      ? []
      : [mismatch(`${reasoningTokens} tokens of reasoning among ${outputTokens} written`)]),
  ];
}

function mismatch(what: string): Warning {
  return warning("usage", "count_mismatch", `the provider counts ${what}`);
}
