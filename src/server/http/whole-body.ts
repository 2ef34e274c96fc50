/** Request bodies that hold a single message. */

import type { Limits } from "../base/limits.ts";
import { type Compression, decompress } from "../requests/decompress.ts";
import { GrowingBuffer } from "../requests/growing-buffer.ts";
import { tooLarge } from "../requests/refusals.ts";
import type { RequestShare } from "../requests/request-memory.ts";

/** A body and the share that accounts for its memory. */
export interface WholeBody {
  /** The bytes of the body as they arrive. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The header `content-length`. */
  readonly announced: string | undefined;
  readonly compression: Compression | undefined;
  readonly share: RequestShare;
  readonly limits: Limits;
}

/**
 * Reads a body to its end and decompresses it.
 * @throws ConnectError RESOURCE_EXHAUSTED if it exceeds a limit, or if there is no memory for it.
 */
export async function readWholeBody({
  chunks,
  announced = "0",
  compression,
  share,
  limits,
}: WholeBody): Promise<Uint8Array> {
  const { maxMessageBytes } = limits;
  checkAnnounced(Number(announced), share, maxMessageBytes);
  const body = new GrowingBuffer();
  for await (const chunk of chunks) {
    share.take(chunk.byteLength);
    body.append(chunk);
    if (body.length > maxMessageBytes) throw tooLarge("more", maxMessageBytes);
  }
  const bytes = body.take();
  if (compression === undefined) return bytes;
  const plain = await decompress(bytes, compression, share, limits);
  share.give(bytes.byteLength);
  return plain;
}

function checkAnnounced(bytes: number, share: RequestShare, maxMessageBytes: number): void {
  if (bytes > maxMessageBytes) throw tooLarge(`${bytes} bytes`, maxMessageBytes);
  if (bytes > 0) share.expect(bytes);
}
