/** Facts of an answer that have no unified form: its service tier, why it was refused, further counts. */
import { furtherCounts, toMetadataJson } from "../../kit/call/provider-metadata.ts";
import type { Message, Usage } from "../../wire/anthropic-messages/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** Returns `Response.provider_metadata_json`. @param usage The counts of the whole answer. */
export function toMetadata(message: Untrusted<Message>, usage: unknown): string {
  return toMetadataJson({ ...message, usage: furtherCounts(usage, UNIFIED_COUNTS) }, READ_ELSEWHERE);
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
] satisfies (keyof Message)[]);

const UNIFIED_COUNTS: ReadonlySet<string> = new Set([
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "input_tokens",
  "output_tokens",
] satisfies (keyof Usage)[]);
