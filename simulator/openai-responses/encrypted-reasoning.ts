import { seal, unseal } from "../seal.ts";

/** The first bytes of OpenAI's encrypted content: a version and the high bytes of a timestamp. */
const version = Buffer.from([0x80, 0, 0, 0, 0]);

/**
 * The place in which encrypted content is sent. OpenAI encrypts the same reasoning anew for each place. The content in
 * `response.output_item.added` is sent before the reasoning exists, so it cannot be sent back.
 */
export type ContentPlace = "added" | "done" | "completed";

/** Encrypts the reasoning of an item. Returns the same content for the same item, text and place. */
export function encryptReasoning(itemId: string, paragraphs: readonly string[], place: ContentPlace): string {
  const isEarly = place === "added";
  return encode(
    seal(version, `${itemId} ${place}`, { itemId, isEarly, paragraphs: isEarly ? [] : paragraphs }),
  );
}

/**
 * Decrypts content that was sent back. Returns the id of its item, or undefined unless the content is, byte for byte, a
 * result of {@link encryptReasoning} for a place other than `added`.
 */
export function decryptReasoning(content: string): string | undefined {
  const bytes = Buffer.from(content, "base64url");
  if (encode(bytes) !== content) return undefined;
  const opened = unseal(version, bytes) as { itemId: string; isEarly: boolean } | undefined;
  return opened?.isEarly === false ? opened.itemId : undefined;
}

/** Encodes bytes as URL-safe base64 with padding. Each content has exactly one such form. */
function encode(bytes: Buffer): string {
  const text = bytes.toString("base64url");
  return text.padEnd(Math.ceil(text.length / 4) * 4, "=");
}
