/** Token counts, and the facts of an answer that have no unified form. */
import type { ProviderModels } from "../../catalog/catalog.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { createUsage } from "../../kit/adapter/usage.ts";
import { toMetadataJson } from "../../kit/call/provider-metadata.ts";
import { asCount, asObject, objectIn } from "../../kit/json/json.ts";
import type {
  CacheCreation,
  Message,
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

/** Returns `Response.provider_metadata_json`. @param usage The counts of the whole answer. */
export function toMetadata(message: Untrusted<Message>, usage: unknown): string {
  return toMetadataJson(message, READ_ELSEWHERE, usage, UNIFIED_COUNTS);
}

/** Fields of a message that are read elsewhere. */
const READ_ELSEWHERE: ReadonlySet<string> = new Set([
  "container",
  "content",
  "id",
  "input_transformations",
  "model",
  "role",
  "stop_reason",
  "stop_sequence",
  "type",
  "usage",
] satisfies (keyof Message)[]);

const UNIFIED_COUNTS: ReadonlySet<string> = new Set([
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "input_tokens",
  "output_tokens",
] satisfies (keyof WireUsage)[]);
