import { createCipheriv, createDecipheriv, createHash } from "node:crypto";

/**
 * The key is not secret: it only serves to detect altered data. It is the same for every simulator, so that a
 * conversation can continue after a restart.
 */
const key = createHash("sha256").update("outrigger simulator").digest().subarray(0, 16);

const ivLength = 12;
const tagLength = 16;

/**
 * Encrypts a value with authentication (AES-128-GCM), as providers do with data that must be returned unchanged:
 * encrypted reasoning, signatures.
 * @param header The first bytes of all sealed values of this kind.
 * @param seed Makes this sealed value differ from others; the same seed and value give the same bytes.
 */
export function seal(header: Buffer, seed: string, value: unknown): Buffer {
  const iv = createHash("sha256").update(seed).digest().subarray(0, ivLength);
  const cipher = createCipheriv("aes-128-gcm", key, iv);
  const encrypted = Buffer.concat([cipher.update(JSON.stringify(value), "utf8"), cipher.final()]);
  return Buffer.concat([header, iv, cipher.getAuthTag(), encrypted]);
}

/**
 * Decrypts a sealed value. Returns undefined unless the bytes are exactly the result of {@link seal} for this header.
 */
export function unseal(header: Buffer, bytes: Buffer): unknown {
  const tagStart = header.length + ivLength;
  const textStart = tagStart + tagLength;
  if (bytes.length <= textStart || !bytes.subarray(0, header.length).equals(header)) return undefined;
  try {
    const iv = bytes.subarray(header.length, tagStart);
    const decipher = createDecipheriv("aes-128-gcm", key, iv, { authTagLength: tagLength });
    decipher.setAuthTag(bytes.subarray(tagStart, textStart));
    const text = Buffer.concat([decipher.update(bytes.subarray(textStart)), decipher.final()]);
    return JSON.parse(text.toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

/** Seals a value as text: base64 with padding. */
export function sealText(header: Buffer, seed: string, value: unknown): string {
  return seal(header, seed, value).toString("base64");
}

/** Decrypts the result of {@link sealText}. Another base64 encoding of the same bytes is rejected. */
export function unsealText(header: Buffer, text: string): unknown {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? unseal(header, bytes) : undefined;
}
