import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { boundedText } from "../status/bounded-text.ts";
import { tooLarge } from "./frames.ts";

/** The compressions of this server besides `identity`; the value of `grpc-accept-encoding`. */
export const ACCEPTED_ENCODINGS = "gzip";

/** Compression of the messages of a call. */
export type Encoding = "identity" | "gzip";

/**
 * The compression that a request announces by `grpc-encoding`.
 * @throws ConnectError UNIMPLEMENTED for an unknown one (gRPC's compression.md).
 */
export function encodingOf(header: string | undefined): Encoding {
  if (header === undefined || header === "identity") return "identity";
  if (header === "gzip") return "gzip";
  const found = JSON.stringify(boundedText(header, MAX_SHOWN_BYTES));
  throw new ConnectError(`grpc-encoding is ${found}, expected identity or gzip`, Code.Unimplemented);
}

/** Whether a list of encodings, as in `grpc-accept-encoding`, contains gzip. */
export function acceptsGzip(header: string | readonly string[] | undefined): boolean {
  return String(header ?? "")
    .split(",")
    .some((name) => name.trim() === "gzip");
}

/**
 * Decompresses a message.
 * @throws ConnectError RESOURCE_EXHAUSTED where it is larger than `maxBytes`, at which decompression stops;
 *   INVALID_ARGUMENT where it is not gzip.
 */
export async function decompress(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  try {
    // Node has no limit of zero; a message of one byte does not parse anyway.
    return await gunzipAsync(bytes, { maxOutputLength: Math.max(1, maxBytes) });
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge("more", maxBytes);
    throw new ConnectError("a compressed message is not valid gzip", Code.InvalidArgument);
  }
}

/** Compresses a message. */
export function compress(bytes: Uint8Array): Promise<Uint8Array> {
  return gzipAsync(bytes);
}

const gunzipAsync = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(gunzip);
const gzipAsync = promisify<Uint8Array, Buffer>(gzip);
const MAX_SHOWN_BYTES = 32;
