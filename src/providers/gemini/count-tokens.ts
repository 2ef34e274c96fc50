/** Counting of tokens (provider documentation: "Models: countTokens"). */
import { asCount, type JsonObject, objectIn, tryParseJson } from "../../kit/json/json.ts";
import { toResourceName } from "./request.ts";

/** Returns the body for a request. @param body The body of `generateContent`. */
export function toCountBody(model: string, body: JsonObject): JsonObject {
  return { generateContentRequest: { model: toResourceName(model), ...body } };
}

/** Returns the count in an answer; undefined if there is none. */
export function toCount(body: string): number | undefined {
  return asCount(objectIn<{ totalTokens: number }>(tryParseJson(body)).totalTokens);
}
