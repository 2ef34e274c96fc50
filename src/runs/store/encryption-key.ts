import { hash } from "node:crypto";
import { ConfigurationError } from "../../core/errors.ts";

/** Length of a key, in bytes: that of AES-256. */
const KEY_BYTES = 32;

/** Length of the id of a key, in bytes. */
export const KEY_ID_BYTES = 8;

/** A key that bodies are encrypted with. */
export interface EncryptionKey {
  readonly bytes: Buffer;
  /** Tells which of several keys a body was encrypted with, and nothing about the key: `KEY_ID_BYTES` of a hash. */
  readonly id: Buffer;
  /** The file that it is from, for errors. */
  readonly path: string;
}

/**
 * The key in the text of a file: 32 bytes in Base64 or in hexadecimal, as `openssl rand -base64 32` writes them.
 * @throws ConfigurationError that names the file, and nothing of its content.
 */
export function parseEncryptionKey(text: string, path: string): EncryptionKey {
  const bytes = decodeKey(text.trim());
  if (bytes?.byteLength === KEY_BYTES) return { bytes, id: createKeyId(bytes), path };
  const found = text.trim() === "" ? "nothing" : describeBytes(bytes);
  throw new ConfigurationError(
    `expected a key of ${KEY_BYTES} bytes in Base64 or hexadecimal in ${path}, found ${found}`,
  );
}

function decodeKey(text: string): Buffer | undefined {
  if (/^(?:[0-9A-Fa-f]{2})+$/.test(text) && text.length === 2 * KEY_BYTES) return Buffer.from(text, "hex");
  return /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) ? Buffer.from(text, "base64") : undefined;
}

function describeBytes(bytes: Buffer | undefined): string {
  return bytes === undefined ? "another text" : `${bytes.byteLength} bytes`;
}

function createKeyId(key: Buffer): Buffer {
  const material = Buffer.concat([Buffer.from("outrigger key id\n"), key]);
  return hash("sha256", material, "buffer").subarray(0, KEY_ID_BYTES);
}
