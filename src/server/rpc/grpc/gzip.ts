import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { boundedText } from "../../status/bounded-text.ts";

/** The compressions of this server besides `identity`; the value of `grpc-accept-encoding`. */
export const ACCEPTED_ENCODINGS = "gzip";

/** Compression of the messages of a call. */
export type Encoding = "identity" | "gzip";

/**
 * Returns the compression that a request announces by `grpc-encoding`.
 * @throws ConnectError UNIMPLEMENTED for an unknown one (gRPC's compression.md).
 */
export function getEncoding(header: string | undefined): Encoding {
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

/** Compresses a message. */
export function compress(bytes: Uint8Array): Promise<Uint8Array> {
  return gzipAsync(bytes);
}

const gzipAsync = promisify<Uint8Array, Buffer>(gzip);
const MAX_SHOWN_BYTES = 32;
