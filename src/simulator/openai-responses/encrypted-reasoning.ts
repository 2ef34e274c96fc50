import { seal, unseal } from "../seal.ts";

/** What OpenAI's encrypted contents begin with: a version and the high bytes of a time. */
const version = Buffer.from([0x80, 0, 0, 0, 0]);

/**
 * Where a content stands. OpenAI encrypts the same reasoning anew for each place, and the one in
 * `response.output_item.added` is there before the reasoning is, so that it cannot be sent back.
 */
export type ContentPlace = "added" | "done" | "completed";

/** Encrypts the reasoning of an item: the same for the same item, text and place. */
export function encryptReasoning(itemId: string, paragraphs: readonly string[], place: ContentPlace): string {
  const isEarly = place === "added";
  return encode(
    seal(version, `${itemId} ${place}`, { itemId, isEarly, paragraphs: isEarly ? [] : paragraphs }),
  );
}

/**
 * Decrypts a content that came back. Returns the id of its item, or undefined when it is not, byte for byte, one that
 * {@link encryptReasoning} made for a place other than `added`.
 */
export function decryptReasoning(content: string): string | undefined {
  const bytes = Buffer.from(content, "base64url");
  if (encode(bytes) !== content) return undefined;
  const opened = unseal(version, bytes) as { itemId: string; isEarly: boolean } | undefined;
  return opened?.isEarly === false ? opened.itemId : undefined;
}

/** Base64 with the letters of URLs, and padding. Each content has exactly one such form. */
function encode(bytes: Buffer): string {
  const text = bytes.toString("base64url");
  return text.padEnd(Math.ceil(text.length / 4) * 4, "=");
}
