import { randomFillSync } from "node:crypto";

const ID_BYTES = 16;

// Random bytes for many ids at once: asking for them costs more than the bytes themselves.
const pool = Buffer.alloc(128 * ID_BYTES);
let next = pool.byteLength;

/** The id of a call: the one that its caller gave it, else a new one, `inf_` and 128 random bits in hexadecimal. */
export function inferenceIdOf({ inferenceId }: { readonly inferenceId?: string | undefined } = {}): string {
  return inferenceId ?? createInferenceId();
}

function createInferenceId(): string {
  if (next === pool.byteLength) {
    randomFillSync(pool);
    next = 0;
  }
  next += ID_BYTES;
  return `inf_${pool.toString("hex", next - ID_BYTES, next)}`;
}
