import { createHash } from "node:crypto";

const wordPattern = /[\p{L}\p{N}]+/gu;

/**
 * Returns the embedding of a text: a unit vector. Texts that share words have similar vectors, since each word adds to
 * one dimension, with a sign. The case of letters makes no difference.
 */
export function embed(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const [word] of text.toLowerCase().matchAll(wordPattern)) addWord(vector, word);
  // A text without words, or whose words cancel each other out.
  if (vector.every((value) => value === 0)) addWord(vector, "");
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function addWord(vector: number[], word: string): void {
  const hash = createHash("sha256").update(word).digest();
  const index = hash.readUInt32LE(0) % vector.length;
  vector[index] = (vector[index] ?? 0) + (hash.readInt8(4) < 0 ? -1 : 1);
}
