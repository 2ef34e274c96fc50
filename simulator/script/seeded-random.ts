import { createHash } from "node:crypto";

/** A random number generator with a seed. */
export interface SeededRandom {
  /** Returns an integer from 0 up to, but not including, `limit` (at least 1). */
  below(limit: number): number;
  /** Returns one of the choices, of which there must be at least one. */
  pick<Choice>(choices: readonly [Choice, ...Choice[]]): Choice;
}

/** Creates a generator (mulberry32) whose seed is a text. */
export function createSeededRandom(seed: string): SeededRandom {
  let state = createHash("sha256").update(seed).digest().readUInt32LE(0);
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
  return { below, pick: (choices) => choices[below(choices.length)] ?? choices[0] };
}
