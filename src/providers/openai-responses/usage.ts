/** Token counts, and the facts of an answer that have no unified form. */
import type { Usage as UsageMessage } from "../../gen/outrigger/v1/usage_pb.ts";
import { createUsage, readReportedCost } from "../../kit/adapter/usage.ts";
import { toMetadataJson } from "../../kit/call/provider-metadata.ts";
import { asCount, asObject } from "../../kit/json/json.ts";
import type {
  InputTokensDetails,
  OutputTokensDetails,
  ResponseObject,
  Usage,
} from "../../wire/openai-responses/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

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

/** Returns `Response.provider_metadata_json`. */
export function toMetadata(object: Untrusted<ResponseObject>): string {
  return toMetadataJson(object, READ_ELSEWHERE, object.usage, UNIFIED_COUNTS);
}

/** Fields of a response that are read elsewhere, and those that repeat the request. */
const READ_ELSEWHERE: ReadonlySet<string> = new Set([
  "background",
  "completed_at",
  "conversation",
  "created_at",
  "error",
  "frequency_penalty",
  "id",
  "incomplete_details",
  "input_transformations",
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "model",
  "object",
  "output",
  "output_text",
  "parallel_tool_calls",
  "presence_penalty",
  "previous_response_id",
  "prompt",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "reasoning",
  "safety_identifier",
  "status",
  "store",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "truncation",
  "usage",
  "user",
]);

const UNIFIED_COUNTS: ReadonlySet<string> = new Set([
  "input_tokens",
  "input_tokens_details",
  "output_tokens",
  "output_tokens_details",
  "total_tokens",
]);
