/** Counting of tokens ("Count tokens in a message"). */
import { asCount, type JsonObject, objectIn, tryParseJson } from "../../kit/json/json.ts";
import type { MessageTokensCount } from "../../wire/anthropic-messages/response.ts";

/** Fields of "Create a message" that say how to answer, and that counting refuses. */
const ANSWER_FIELDS: ReadonlySet<string> = new Set([
  "container",
  "inference_geo",
  "max_tokens",
  "metadata",
  "service_tier",
  "stop_sequences",
  "stream",
  "temperature",
  "top_k",
  "top_p",
]);

/** Returns the body for a request. @param body The body of "Create a message". */
export function toCountBody(body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !ANSWER_FIELDS.has(name)));
}

/** Returns the count in an answer; undefined if there is none. */
export function toCount(body: string): number | undefined {
  return asCount(objectIn<MessageTokensCount>(tryParseJson(body)).input_tokens);
}
