import { create } from "@bufbuild/protobuf";
import { type Usage as UsageMessage, UsageSchema } from "../../gen/outrigger/v1/usage_pb.ts";
import { reportedCostIn } from "../../kit/adapter/reported-cost.ts";
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
  const [inputTokens, outputTokens] = [input ?? 0, output ?? 0];
  const result = create(UsageSchema, { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens });
  const inputDetails =
    asObject<InputTokensDetails>(counts.input_tokens_details) ??
    asObject<InputTokensDetails>(counts.prompt_tokens_details);
  const outputDetails =
    asObject<OutputTokensDetails>(counts.output_tokens_details) ??
    asObject<OutputTokensDetails>(counts.completion_tokens_details);
  setCount(result, "reasoningTokens", outputDetails?.reasoning_tokens);
  setCount(result, "cacheReadTokens", inputDetails?.cached_tokens);
  setCount(result, "cacheWriteTokens", inputDetails?.cache_write_tokens);
  const cost = reportedCostIn(counts);
  if (cost !== undefined) result.costNanoUsd = cost;
  if (includeRaw) result.rawJson = JSON.stringify(counts);
  return result;
}

function setCount(
  usage: UsageMessage,
  field: "reasoningTokens" | "cacheReadTokens" | "cacheWriteTokens",
  value: unknown,
): void {
  const count = asCount(value);
  if (count !== undefined) usage[field] = count;
}
