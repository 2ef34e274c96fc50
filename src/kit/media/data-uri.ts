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

/** Whether a URL is a data: URI. */
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
  const text = payload.includes("%") ? percentDecode(payload).toString("latin1") : payload;
  const digits = text
    .replace(/[\t\n\f\r ]+/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replace(/={1,2}$/, "");
  if (!/^[A-Za-z0-9+/]*$/.test(digits) || digits.length % 4 === 1) {
    throw invalidField(fieldPath, "is a data: URI whose base64 is malformed");
  }
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, "=");
}

/** Percent-decodes into bytes; a percent sign without two hexadecimal digits is kept (WHATWG URL, section 1.3). */
function percentDecode(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  let length = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const code = bytes[index] === PERCENT ? bytes.toString("latin1", index + 1, index + 3) : "";
    const encoded = code !== "" && /^[0-9a-f]{2}$/i.test(code);
    bytes[length++] = encoded ? Number.parseInt(code, 16) : (bytes[index] ?? 0);
    if (encoded) index += 2;
  }
  return bytes.subarray(0, length);
}

function tooLarge(fieldPath: string, maxBytes: number): Error {
  return invalidField(fieldPath, `is a data: URI of more than ${maxBytes} bytes, the limit for media`);
}
