import type { ProviderModels } from "../../catalog/provider-models.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { createUsage } from "../../kit/adapter/usage.ts";
import { asCount, asObject, type JsonObject, objectIn } from "../../kit/json/json.ts";
import type {
  CacheCreation,
  OutputTokensDetails,
  Usage as WireUsage,
} from "../../wire/anthropic-messages/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/**
 * Converts token counts to the meaning that they have for every provider: the API counts cached tokens separately, here
 * `input_tokens` includes the tokens read from and written to the cache (provider documentation: "Prompt caching",
 * "Tracking cache performance"). The API's sums do not include `iterations`, which stay in `raw_json`. Adds the cost if
 * the catalog knows the model.
 * @param model The model that answered.
 * @returns Undefined if the provider reported no usage.
 */
export function toUsage(
  usage: unknown,
  model: string,
  includeRaw: boolean,
  models: ProviderModels | undefined,
): Usage | undefined {
  const counts = asObject<WireUsage>(usage);
  if (counts === undefined) return undefined;
  const cacheReadTokens = asCount(counts.cache_read_input_tokens);
  const cacheWriteTokens = asCount(counts.cache_creation_input_tokens);
  const reasoningTokens = asCount(
    objectIn<OutputTokensDetails>(counts.output_tokens_details).thinking_tokens,
  );
  const inputTokens = (asCount(counts.input_tokens) ?? 0) + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);
  const outputTokens = asCount(counts.output_tokens) ?? 0;
  const converted = { inputTokens, outputTokens, reasoningTokens, cacheReadTokens, cacheWriteTokens };
  const result = createUsage(converted, includeRaw ? counts : undefined);
  const longCacheWriteTokens =
    asCount(objectIn<CacheCreation>(counts.cache_creation).ephemeral_1h_input_tokens) ?? 0;
  const cost = models?.costOf(result, model, { longCacheWriteTokens });
  if (cost !== undefined) result.costNanoUsd = cost;
  return result;
}

/**
 * Merges the counts of a stream so far. They are cumulative; a count that a later event omits or sets to null is
 * unchanged.
 * @param earlier The counts before, which are changed: a copy for each event would be quadratic.
 */
export function mergeUsage(
  earlier: Untrusted<WireUsage> | undefined,
  reported: unknown,
): Untrusted<WireUsage> | undefined {
  const counts = asObject(reported);
  if (counts === undefined) return earlier;
  return Object.assign(earlier ?? {}, withoutNulls(counts));
}

/** Returns the fields of an object that are not null. */
export function withoutNulls(object: object): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}
