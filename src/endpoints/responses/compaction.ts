/** The content of a compaction item, which replaces the conversation before it. */
import { asString, tryParseJson } from "../../kit/json/json.ts";

/** Prefix of content that this API writes. Content without it comes from OpenAI. */
const MARK = "orc1.";

/** Precedes a summary, to tell the model what it is. */
const INTRODUCTION =
  "Summary of the conversation so far, which was shortened. Continue from it as if you had seen the whole:";

/**
 * Creates the `encrypted_content` of a compaction. It is encoded, not encrypted: it is returned to the caller who sent
 * the conversation.
 */
export function encodeCompaction(summary: string): string {
  return MARK + Buffer.from(JSON.stringify(summary)).toString("base64url");
}

/** Reports whether this API wrote the content of a compaction. */
export function isCompaction(encrypted: string): boolean {
  return encrypted.startsWith(MARK);
}

/** Returns the text that the model gets instead of the conversation. Undefined if this API did not write it. */
export function decodeCompaction(encrypted: string): string | undefined {
  if (!isCompaction(encrypted)) return undefined;
  const text = Buffer.from(encrypted.slice(MARK.length), "base64url").toString();
  const summary = asString(tryParseJson(text));
  return summary === undefined ? undefined : `${INTRODUCTION}\n\n${summary}`;
}
