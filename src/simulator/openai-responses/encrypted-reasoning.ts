import { createCipheriv, createDecipheriv, createHash } from "node:crypto";

/**
 * The key is no secret: it only makes a content that was altered on the way show. It is the same for every simulator, so
 * that a conversation outlives a restart.
 */
const key = createHash("sha256").update("outrigger simulator").digest().subarray(0, 16);

/** What OpenAI's encrypted contents begin with: a version and the high bytes of a time. */
const version = Buffer.from([0x80, 0, 0, 0, 0]);

const ivLength = 12;
const tagLength = 16;

/**
 * Where a content stands. OpenAI encrypts the same reasoning anew for each place, and the one in
 * `response.output_item.added` is there before the reasoning is, so that it cannot be sent back.
 */
export type ContentPlace = "added" | "done" | "completed";

/** Encrypts the reasoning of an item: the same for the same item, text and place. */
export function encryptReasoning(itemId: string, paragraphs: readonly string[], place: ContentPlace): string {
  const iv = createHash("sha256").update(`${itemId} ${place}`).digest().subarray(0, ivLength);
  const cipher = createCipheriv("aes-128-gcm", key, iv);
  const isEarly = place === "added";
  const text = JSON.stringify({ itemId, isEarly, paragraphs: isEarly ? [] : paragraphs });
  const encrypted = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return encode(Buffer.concat([version, iv, cipher.getAuthTag(), encrypted]));
}

/**
 * Decrypts a content that came back. Returns the id of its item, or undefined when it is not, byte for byte, one that
 * {@link encryptReasoning} made for a place other than `added`.
 */
export function decryptReasoning(content: string): string | undefined {
  const bytes = Buffer.from(content, "base64url");
  const [ivStart, tagStart, textStart] = [
    version.length,
    version.length + ivLength,
    version.length + ivLength + tagLength,
  ];
  if (bytes.length <= textStart || encode(bytes) !== content) return undefined;
  if (!bytes.subarray(0, ivStart).equals(version)) return undefined;
  try {
    const decipher = createDecipheriv("aes-128-gcm", key, bytes.subarray(ivStart, tagStart), {
      authTagLength: tagLength,
    });
    decipher.setAuthTag(bytes.subarray(tagStart, textStart));
    const text = Buffer.concat([decipher.update(bytes.subarray(textStart)), decipher.final()]).toString(
      "utf8",
    );
    const { itemId, isEarly } = JSON.parse(text) as { itemId: string; isEarly: boolean };
    return isEarly ? undefined : itemId;
  } catch {
    return undefined;
  }
}

/** Base64 with the letters of URLs, and padding. Each content has exactly one such form. */
function encode(bytes: Buffer): string {
  const text = bytes.toString("base64url");
  return text.padEnd(Math.ceil(text.length / 4) * 4, "=");
}
