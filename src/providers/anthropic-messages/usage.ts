import type { ProviderModels } from "../../catalog/provider-models.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { createUsage } from "../../kit/adapter/usage.ts";
import { asCount, asObject, objectIn } from "../../kit/json/json.ts";
import type {
  CacheCreation,
  OutputTokensDetails,
  Usage as WireUsage,
} from "../../wire/anthropic-messages/response.ts";

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
