/** Facts of an answer that have no unified form: its service tier, filter results, further counts. */
import { furtherCounts, toMetadataJson } from "../../kit/call/provider-metadata.ts";
import type { ResponseObject } from "../../wire/openai-responses/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** Returns `Response.provider_metadata_json`. */
export function toMetadata(object: Untrusted<ResponseObject>): string {
  return toMetadataJson({ ...object, usage: furtherCounts(object.usage, UNIFIED_COUNTS) }, READ_ELSEWHERE);
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
  "user",
]);

const UNIFIED_COUNTS: ReadonlySet<string> = new Set([
  "input_tokens",
  "input_tokens_details",
  "output_tokens",
  "output_tokens_details",
  "total_tokens",
]);
