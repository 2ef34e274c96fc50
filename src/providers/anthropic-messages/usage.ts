import { create } from "@bufbuild/protobuf";
import { costOf } from "../../catalog/catalog.ts";
import { type Usage, UsageSchema } from "../../gen/outrigger/v1/usage_pb.ts";
import { asInt32, asObject, type JsonObject, objectIn } from "../../kit/json/json.ts";
import { WIRE_NAME } from "./wire.ts";

/**
 * Token counts, alike for every provider: the API counts what it reads from and writes to its
 * cache apart, here `input_tokens` includes both (provider documentation: "Prompt caching",
 * "Tracking cache performance"). Passes of `iterations` are not in the API's own sums and stay
 * in `raw_json`. With the cost where the catalog knows the model.
 * @param model The model that answered.
 * @returns undefined where the provider said nothing.
 */
export function usageOf(usage: unknown, model: string, includeRaw: boolean): Usage | undefined {
  const counts = asObject(usage);
  if (counts === undefined) return undefined;
  const cacheReadTokens = asInt32(counts.cache_read_input_tokens);
  const cacheWriteTokens = asInt32(counts.cache_creation_input_tokens);
  const reasoningTokens = asInt32(objectIn(counts.output_tokens_details).thinking_tokens);
  const inputTokens = (asInt32(counts.input_tokens) ?? 0) + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);
  const outputTokens = asInt32(counts.output_tokens) ?? 0;
  const result = create(UsageSchema, {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
    ...(cacheReadTokens === undefined ? {} : { cacheReadTokens }),
    ...(cacheWriteTokens === undefined ? {} : { cacheWriteTokens }),
    rawJson: includeRaw ? JSON.stringify(counts) : "",
  });
  const longCacheWriteTokens = asInt32(objectIn(counts.cache_creation).ephemeral_1h_input_tokens) ?? 0;
  const cost = costOf(result, model, WIRE_NAME, { longCacheWriteTokens });
  if (cost !== undefined) result.costNanoUsd = cost;
  return result;
}

/**
 * The counts of a stream so far: they are cumulative, and a later event leaves out, or has
 * null for, what it does not tell.
 */
export function mergeUsage(known: JsonObject | undefined, told: unknown): JsonObject | undefined {
  const counts = asObject(told);
  if (counts === undefined) return known;
  return { ...known, ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== null)) };
}
