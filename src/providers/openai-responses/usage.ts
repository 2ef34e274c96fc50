import type { Usage as UsageMessage } from "../../gen/outrigger/v1/usage_pb.ts";
import { createUsage, readReportedCost } from "../../kit/adapter/usage.ts";
import { asCount, asObject } from "../../kit/json/json.ts";
import type { InputTokensDetails, OutputTokensDetails, Usage } from "../../wire/openai-responses/response.ts";

/**
 * Converts token counts to the meaning that they have for every provider: `input_tokens` already includes cached and
 * cache-written tokens here, `output_tokens` includes reasoning. Compatible servers also use the names of Chat
 * Completions. Undefined if the provider reported none.
 */
export function toUsage(usage: unknown, includeRaw: boolean): UsageMessage | undefined {
  const counts = asObject<Usage>(usage);
  if (counts === undefined) return undefined;
  const input = asCount(counts.input_tokens) ?? asCount(counts.prompt_tokens);
  const output = asCount(counts.output_tokens) ?? asCount(counts.completion_tokens);
  if (input === undefined && output === undefined) return undefined;
  const inputDetails =
    asObject<InputTokensDetails>(counts.input_tokens_details) ??
    asObject<InputTokensDetails>(counts.prompt_tokens_details);
  const outputDetails =
    asObject<OutputTokensDetails>(counts.output_tokens_details) ??
    asObject<OutputTokensDetails>(counts.completion_tokens_details);
  const converted = {
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    reasoningTokens: asCount(outputDetails?.reasoning_tokens),
    cacheReadTokens: asCount(inputDetails?.cached_tokens),
    cacheWriteTokens: asCount(inputDetails?.cache_write_tokens),
    costNanoUsd: readReportedCost(counts),
  };
  return createUsage(converted, includeRaw ? counts : undefined);
}
