import { create } from "@bufbuild/protobuf";
import { type Usage, UsageSchema } from "../../gen/outrigger/v1/usage_pb.ts";
import { asInt32, asObject } from "../../kit/json/json.ts";

/**
 * Token counts, alike for every provider: `input_tokens` includes cached and cache-written
 * tokens here already, `output_tokens` includes reasoning. Compatible servers also use the
 * names of Chat Completions. Undefined where the provider said nothing.
 */
export function usageOf(usage: unknown, includeRaw: boolean): Usage | undefined {
  const counts = asObject(usage);
  if (counts === undefined) return undefined;
  const input = asObject(counts.input_tokens_details) ?? asObject(counts.prompt_tokens_details);
  const output = asObject(counts.output_tokens_details) ?? asObject(counts.completion_tokens_details);
  const said = asInt32(counts.input_tokens) ?? asInt32(counts.prompt_tokens);
  const written = asInt32(counts.output_tokens) ?? asInt32(counts.completion_tokens);
  if (said === undefined && written === undefined) return undefined;
  const [inputTokens, outputTokens] = [said ?? 0, written ?? 0];
  const result = create(UsageSchema, { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens });
  setCount(result, "reasoningTokens", output?.reasoning_tokens);
  setCount(result, "cacheReadTokens", input?.cached_tokens);
  setCount(result, "cacheWriteTokens", input?.cache_write_tokens);
  if (includeRaw) result.rawJson = JSON.stringify(counts);
  return result;
}

function setCount(
  usage: Usage,
  field: "reasoningTokens" | "cacheReadTokens" | "cacheWriteTokens",
  value: unknown,
): void {
  const count = asInt32(value);
  if (count !== undefined) usage[field] = count;
}
