import { randomFillSync } from "node:crypto";

/** Returns the id of a call: the caller's, or a new one of `inf_` and 128 random bits in hexadecimal. */
export function getInferenceId({ inferenceId }: { readonly inferenceId?: string | undefined } = {}): string {
  return inferenceId ?? `inf_${randomHex(16)}`;
}

// Random bytes for many ids at once: asking for them costs more than generating them.
const pool = Buffer.alloc(4096);
let next = pool.byteLength;

/** Returns random bytes in hexadecimal. @param bytes The number of bytes, at most 4096. */
export function randomHex(bytes: number): string {
  if (next + bytes > pool.byteLength) {
    randomFillSync(pool);
    next = 0;
  }
  next += bytes;
  return pool.toString("hex", next - bytes, next);
}
