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

/** Characters that are compared at once: a multiple of four. */
const SLICE_CHARACTERS = 64 * 1024;

const INVALID = 0xff;
const WHITE_SPACE = 0xfe;
const PADDING = 0x3d;

/** The standard digit of each byte, also of the URL-safe alphabet, which has `-` for `+`, and `_` for `/`. */
const DIGITS = createDigits();

function createDigits(): Uint8Array {
  const digits = new Uint8Array(256).fill(INVALID);
  for (const byte of Buffer.from(" \n\r\t\f")) digits[byte] = WHITE_SPACE;
  const alphabet = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=");
  for (const byte of alphabet) digits[byte] = byte;
  digits[0x2d] = 0x2b;
  digits[0x5f] = 0x2f;
  return digits;
}

function normalizeBase64(payload: string, fieldPath: string): string {
  const digits = isStandard(payload) ? payload : toStandard(payload);
  if (digits !== undefined) return digits;
  throw invalidField(fieldPath, "is a data: URI whose base64 is malformed");
}

/** Reports whether base64 has the usual form. Encoding it again costs less than a regular expression. */
function isStandard(text: string): boolean {
  const padding = text.indexOf("=");
  if (padding >= 0 && padding < text.length - 2) return false;
  for (let start = 0; start < text.length; start += SLICE_CHARACTERS) {
    const slice = text.slice(start, start + SLICE_CHARACTERS);
    if (Buffer.from(slice, "base64").toString("base64") !== slice) return false;
  }
  return true;
}

/**
 * Returns base64 without white space, in the standard alphabet and with padding; undefined if it is malformed. By its
 * bytes: a regular expression that replaces millions of places needs a hundred megabytes.
 */
function toStandard(payload: string): string | undefined {
  const bytes = payload.includes("%") ? percentDecode(payload) : Buffer.from(payload, "utf8");
  let length = 0;
  let padding = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const digit = DIGITS[bytes[index] ?? 0] ?? INVALID;
    if (digit === WHITE_SPACE) continue;
    if (digit === PADDING) padding += 1;
    else if (padding > 0 || digit === INVALID) return undefined;
    else bytes[length++] = digit;
  }
  if (padding > 2 || length % 4 === 1) return undefined;
  return bytes.toString("latin1", 0, length).padEnd(Math.ceil(length / 4) * 4, "=");
}

/** Percent-decodes into bytes; a percent sign without two hexadecimal digits is kept (WHATWG URL, section 1.3). */
function percentDecode(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  let length = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    let byte = bytes[index] ?? 0;
    if (byte === PERCENT) {
      const value = readHex(bytes[index + 1]) * 16 + readHex(bytes[index + 2]);
      if (!Number.isNaN(value)) {
        byte = value;
        index += 2;
      }
    }
    bytes[length++] = byte;
  }
  return bytes.subarray(0, length);
}

/** Returns the value of a hexadecimal digit; NaN for any other byte, and after the end. */
function readHex(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}

function tooLarge(fieldPath: string, maxBytes: number): Error {
  return invalidField(fieldPath, `is a data: URI of more than ${maxBytes} bytes, the limit for media`);
}
