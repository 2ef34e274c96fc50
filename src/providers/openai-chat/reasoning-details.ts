/** `reasoning_details` (OpenRouter documentation: "Preserving reasoning"): what goes back as it came, signatures included. */
import { type JsonObject, type JsonValue, textIn } from "../../kit/json/json.ts";

/** Fields that arrive in pieces. The rest of a detail is whole wherever it appears. */
const GROWING: readonly string[] = ["text", "summary"];

/**
 * Adds the details of one delta to those so far. Pieces of one detail (same type and index) come
 * together; an encrypted detail is whole and stands alone.
 */
export function addDetails(known: JsonObject[], added: readonly JsonObject[]): void {
  for (const detail of added) {
    const last = known.at(-1);
    if (last !== undefined && continues(last, detail)) known[known.length - 1] = joined(last, detail);
    else known.push(detail);
  }
}

function continues(last: JsonObject, detail: JsonObject): boolean {
  const isGrowing = detail.type === "reasoning.text" || detail.type === "reasoning.summary";
  return isGrowing && last.type === detail.type && last.index === detail.index;
}

function joined(last: JsonObject, detail: JsonObject): JsonObject {
  const result: Record<string, JsonValue | undefined> = { ...last };
  for (const [key, value] of Object.entries(detail)) {
    if (GROWING.includes(key)) result[key] = textIn(result[key]) + textIn(value);
    else if (value !== null) result[key] = value;
  }
  return result;
}

/** The readable text of details, for servers that give no other. */
export function textOfDetails(details: readonly JsonObject[]): string {
  return details.map(({ text, summary }) => textIn(text) + textIn(summary)).join("");
}
