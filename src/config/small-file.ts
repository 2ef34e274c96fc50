import { type BigIntStats, statSync } from "node:fs";
import { open } from "node:fs/promises";

/** Reads the text of a file or pipe; undefined if it is larger than the limit. Rejects if it cannot be read. */
export async function readSmallFile(path: string, maxBytes: number): Promise<string | undefined> {
  await using file = await open(path);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, null);
    if (bytesRead === 0) return Buffer.concat(chunks).toString("utf8");
    bytes += bytesRead;
    if (bytes > maxBytes) return undefined;
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

const CHUNK_BYTES = 64 * 1024;

/**
 * Returns the metadata of a file. Undefined if it cannot be read for any reason, such as permissions or a cycle of
 * links. Reading the file then reports the reason.
 */
export function tryStat(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Returns the system code of an error, for instance `ENOENT`. */
export function getSystemCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
