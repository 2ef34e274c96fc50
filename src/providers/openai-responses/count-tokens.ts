/** Counting of tokens ("Get input token counts"). */
import { asCount, type JsonObject, objectIn, tryParseJson } from "../../kit/json/json.ts";

/** Fields of "Create a model response" that counting takes. */
const COUNTED_FIELDS: ReadonlySet<string> = new Set([
  "conversation",
  "input",
  "instructions",
  "model",
  "parallel_tool_calls",
  "previous_response_id",
  "reasoning",
  "text",
  "tool_choice",
  "tools",
  "truncation",
]);

/** Returns the body for a request. @param body The body of "Create a model response". */
export function toCountBody(body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => COUNTED_FIELDS.has(name)));
}

/** Returns the count in an answer; undefined if there is none. */
export function toCount(body: string): number | undefined {
  return asCount(objectIn<{ input_tokens: number }>(tryParseJson(body)).input_tokens);
}
