import { createBrotliDecompress, createGunzip } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { tooCompressed, tooLarge } from "./refusals.ts";
import type { CallMemory } from "./request-memory.ts";

/** Compressions of requests. */
export type Compression = "gzip" | "br";

/** Returns the compression with a name; undefined for other names. */
export function toCompression(name: string | undefined): Compression | undefined {
  return name === "gzip" || name === "br" ? name : undefined;
}

/** Limits of decompression; see Limits. */
export interface DecompressionLimits {
  readonly maxMessageBytes: number;
  readonly maxCompressionRatio: number;
}

/** Size after decompression up to which any ratio is allowed. */
const ALWAYS_ALLOWED_BYTES = 1024 * 1024;

/** Bytes that are decompressed at once. */
const CHUNK_BYTES = 16 * 1024;

/**
 * Decompresses a message. Takes memory from the share as the result grows, so that a small message cannot become a
 * large one unnoticed.
 * @throws ConnectError RESOURCE_EXHAUSTED if a limit is exceeded, and stops there; INVALID_ARGUMENT if the bytes are
 *   not compressed in that way.
 */
export function decompress(
  bytes: Uint8Array,
  compression: Compression,
  share: CallMemory,
  limits: DecompressionLimits,
): Promise<Uint8Array> {
  if (bytes.byteLength === 0) return Promise.resolve(bytes);
  const inflater = compression === "gzip" ? createGunzip(OPTIONS) : createBrotliDecompress(OPTIONS);
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    inflater.on("data", (chunk: Buffer) => {
      length += chunk.byteLength;
      chunks.push(chunk);
      try {
        checkSize(bytes.byteLength, length, limits);
        share.take(chunk.byteLength);
      } catch (error) {
        inflater.destroy();
        reject(error);
      }
    });
    inflater.on("end", () => resolve(chunks.length === 1 ? (chunks[0] ?? bytes) : Buffer.concat(chunks)));
    inflater.on("error", () => reject(notCompressed(compression)));
    inflater.end(bytes);
  });
}

const OPTIONS = { chunkSize: CHUNK_BYTES };

function checkSize(before: number, after: number, limits: DecompressionLimits): void {
  if (after > limits.maxMessageBytes) throw tooLarge("more", limits.maxMessageBytes);
  if (after <= ALWAYS_ALLOWED_BYTES || after <= before * limits.maxCompressionRatio) return;
  throw tooCompressed(before, limits.maxCompressionRatio);
}

function notCompressed(compression: Compression): ConnectError {
  return new ConnectError(
    `a compressed message is not valid ${compression === "gzip" ? "gzip" : "brotli"}`,
    Code.InvalidArgument,
  );
}
