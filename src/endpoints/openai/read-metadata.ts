import { type Fields, mistake } from "./fields.ts";

const MAX_PAIRS = 16;
const MAX_KEY_CHARS = 64;
const MAX_VALUE_CHARS = 512;

/** Reads `metadata`: labels of a response or a conversation. */
export function readMetadata(fields: Fields): Readonly<Record<string, string>> {
  const metadata = fields.texts("metadata") ?? {};
  const pairs = Object.entries(metadata);
  if (pairs.length > MAX_PAIRS)
    throw mistake("metadata", "invalid_value", `expected at most ${MAX_PAIRS} pairs, found ${pairs.length}`);
  for (const [key, value] of pairs) {
    const path = `metadata.${key.slice(0, MAX_KEY_CHARS)}`;
    if (key.length > MAX_KEY_CHARS)
      throw mistake(
        path,
        "invalid_value",
        `expected a key of at most ${MAX_KEY_CHARS} characters, found ${key.length}`,
      );
    if (value.length > MAX_VALUE_CHARS)
      throw mistake(
        path,
        "invalid_value",
        `expected at most ${MAX_VALUE_CHARS} characters, found ${value.length}`,
      );
  }
  return metadata;
}
