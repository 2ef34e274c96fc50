import { invalidField } from "../../core/errors.ts";
import { isMediaType } from "./media-type.ts";

/** The content of a data: URI. */
export interface DataUri {
  /** Lower case, without parameters; empty if the URI has none. */
  readonly mediaType: string;
  /** The bytes, in standard base64 with padding. */
  readonly base64: string;
}

/** Maximum length of a data: URI before its comma. */
const LONGEST_HEAD = 1024;

const PERCENT = 0x25;

/** Reports whether a URL is a data: URI. */
export function isDataUri(url: string): boolean {
  return /^data:/i.test(url);
}

/**
 * Reads a data: URI (RFC 2397), base64 or percent-encoded. White space, missing padding and the URL-safe alphabet are
 * accepted in base64, as in browsers. Throws InvalidRequestError naming `fieldPath` if it is malformed, empty or holds
 * more than `maxBytes`.
 */
export function parseDataUri(uri: string, maxBytes: number, fieldPath: string): DataUri {
  const comma = uri.slice(0, LONGEST_HEAD).indexOf(",");
  if (comma < 0) throw invalidField(fieldPath, "is a data: URI without a comma before its data");
  const payload = uri.slice(comma + 1);
  // A byte takes at most four characters: three if percent-encoded, four thirds in base64.
  if (payload.length > 4 * maxBytes + 4) throw tooLarge(fieldPath, maxBytes);
  const [type = "", ...parameters] = uri.slice("data:".length, comma).split(";");
  const mediaType = type.trim().toLowerCase();
  if (mediaType !== "" && !isMediaType(mediaType)) {
    throw invalidField(fieldPath, "is a data: URI with a malformed media type; expected one like image/png");
  }
  const isBase64 = parameters.at(-1)?.trim().toLowerCase() === "base64";
  const base64 = isBase64 ? normalizeBase64(payload, fieldPath) : encodeBase64(percentDecode(payload));
  if (base64 === "") throw invalidField(fieldPath, "is a data: URI without data");
  if (Buffer.byteLength(base64, "base64") > maxBytes) throw tooLarge(fieldPath, maxBytes);
  return { mediaType, base64 };
}

/** Creates a base64 data: URI, the form in which providers take images. */
export function formatDataUri(mediaType: string, base64: string): string {
  return `data:${mediaType};base64,${base64}`;
}

/** Encodes bytes as standard base64, without copying them first. */
export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

function normalizeBase64(payload: string, fieldPath: string): string {
  const text = STANDARD.test(payload) ? payload : toStandard(payload);
  const digits = text.replace(/={1,2}$/, "");
  if (!/^[A-Za-z0-9+/]*$/.test(digits) || digits.length % 4 === 1) {
    throw invalidField(fieldPath, "is a data: URI whose base64 is malformed");
  }
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, "=");
}

/** The usual form. */
const STANDARD = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Returns base64 without white space and in the standard alphabet. By its bytes: a regular expression that replaces
 * millions of places needs a hundred megabytes.
 */
function toStandard(payload: string): string {
  const bytes = payload.includes("%") ? percentDecode(payload) : Buffer.from(payload, "utf8");
  let length = 0;
  for (const byte of bytes) if (!isWhiteSpace(byte)) bytes[length++] = toStandardDigit(byte);
  return bytes.toString("latin1", 0, length);
}

function isWhiteSpace(byte: number): boolean {
  return byte <= 0x20 && (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09 || byte === 0x0c);
}

/** The URL-safe alphabet has `-` for `+`, and `_` for `/`. */
function toStandardDigit(byte: number): number {
  if (byte === 0x2d) return 0x2b;
  return byte === 0x5f ? 0x2f : byte;
}

/** Percent-decodes into bytes; a percent sign without two hexadecimal digits is kept (WHATWG URL, section 1.3). */
function percentDecode(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  let length = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0;
    const value = byte === PERCENT ? readHex(bytes[index + 1]) * 16 + readHex(bytes[index + 2]) : Number.NaN;
    bytes[length++] = Number.isNaN(value) ? byte : value;
    if (!Number.isNaN(value)) index += 2;
  }
  return bytes.subarray(0, length);
}

/** Returns the value of a hexadecimal digit; NaN for any other byte, and behind the end. */
function readHex(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}

function tooLarge(fieldPath: string, maxBytes: number): Error {
  return invalidField(fieldPath, `is a data: URI of more than ${maxBytes} bytes, the limit for media`);
}
