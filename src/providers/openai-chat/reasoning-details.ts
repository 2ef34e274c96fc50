/**
 * `reasoning_details` (OpenRouter documentation: "Preserving reasoning"), which are sent back unchanged, including
 * signatures.
 */
import { textIn } from "../../kit/json/json.ts";
import type { ReasoningDetail } from "../../wire/openai-chat/parts.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** Fields that arrive in pieces. The rest of a detail is whole wherever it appears. */
const PIECEWISE: readonly (keyof ReasoningDetail)[] = ["text", "summary"];

/**
 * Adds the details of one delta to those so far. Pieces of one detail (same type and index) are joined; an encrypted
 * detail is whole and stands alone.
 */
export function addDetails(
  known: Untrusted<ReasoningDetail>[],
  added: readonly Untrusted<ReasoningDetail>[],
): void {
  for (const detail of added) {
    const last = known.at(-1);
    if (last !== undefined && continues(last, detail)) extend(last, detail);
    else known.push(detail);
  }
}

function continues(last: Untrusted<ReasoningDetail>, detail: Untrusted<ReasoningDetail>): boolean {
  const isPiecewise = detail.type === "reasoning.text" || detail.type === "reasoning.summary";
  return isPiecewise && last.type === detail.type && last.index === detail.index;
}

/** Adds a piece. Not a copy, which would be repeated for each of many pieces with additional fields. */
function extend(last: Untrusted<ReasoningDetail>, detail: Untrusted<ReasoningDetail>): void {
  const result: Record<string, unknown> = last;
  for (const [key, value] of Object.entries(detail)) {
    if ((PIECEWISE as readonly string[]).includes(key)) result[key] = textIn(result[key]) + textIn(value);
    else if (value !== null) result[key] = value;
  }
}

/** Returns the readable text of details, for servers that send no other. */
export function getDetailsText(details: readonly Untrusted<ReasoningDetail>[]): string {
  return details.map(({ text, summary }) => textIn(text) + textIn(summary)).join("");
}
