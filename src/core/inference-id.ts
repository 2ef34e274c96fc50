import { randomHex } from "./random-hex.ts";

/** Returns the id of a call: the caller's, or a new one of `inf_` and 128 random bits in hexadecimal. */
export function getInferenceId({ inferenceId }: { readonly inferenceId?: string | undefined } = {}): string {
  return inferenceId ?? `inf_${randomHex(16)}`;
}
