import { randomHex } from "./random-hex.ts";

/** The id of a call: the one that its caller gave it, else a new one, `inf_` and 128 random bits in hexadecimal. */
export function getInferenceId({ inferenceId }: { readonly inferenceId?: string | undefined } = {}): string {
  return inferenceId ?? `inf_${randomHex(16)}`;
}
