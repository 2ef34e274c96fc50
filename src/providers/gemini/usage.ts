import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { createUsage } from "../../kit/adapter/usage.ts";
import { asCount, asObject, objectIn } from "../../kit/json/json.ts";
import type { UsageMetadata } from "../../wire/gemini/response.ts";

/** Counts that `usageMetadata` has when it reports usage; early events of a stream may hold only a kind of traffic. */
const COUNTS = [
  "promptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
  "totalTokenCount",
] as const satisfies readonly (keyof UsageMetadata)[];

/**
 * Converts token counts to the meaning that they have for every provider (provider documentation: "UsageMetadata").
 * `promptTokenCount` includes cached tokens. The results of built-in tools are counted in `toolUsePromptTokenCount`,
 * and reasoning in `thoughtsTokenCount`, not in `candidatesTokenCount`. An absent count is zero in a sum and unset
 * otherwise. Undefined if the provider reported none.
 */
export function toUsage(metadata: unknown, includeRaw: boolean): Usage | undefined {
  const counts = asObject<UsageMetadata>(metadata);
  if (counts === undefined || COUNTS.every((name) => asCount(counts[name]) === undefined)) return undefined;
  const reasoningTokens = asCount(counts.thoughtsTokenCount);
  const cacheReadTokens = asCount(counts.cachedContentTokenCount);
  const inputTokens =
    (asCount(counts.promptTokenCount) ?? 0) + (asCount(counts.toolUsePromptTokenCount) ?? 0);
  const outputTokens = (asCount(counts.candidatesTokenCount) ?? 0) + (reasoningTokens ?? 0);
  const converted = { inputTokens, outputTokens, reasoningTokens, cacheReadTokens };
  return createUsage(converted, includeRaw ? counts : undefined);
}

/**
 * Reports whether the counts of a `usageMetadata` contradict each other: the total is not the sum of its parts, or more
 * tokens are cached than the prompt has.
 * @param usage The result of `toUsage`.
 */
export function isContradictory(metadata: unknown, usage: Usage): boolean {
  const { inputTokens, totalTokens, cacheReadTokens = 0 } = usage;
  const total = asCount(objectIn<UsageMetadata>(metadata).totalTokenCount) ?? totalTokens;
  return total !== totalTokens || cacheReadTokens > inputTokens;
}
