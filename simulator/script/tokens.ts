/**
 * One output token of the simulated models: a word of up to ten letters or digits with the space before it, a run of
 * white space, or any other single character.
 */
const tokenPattern = / ?[\p{L}\p{N}]{1,10}|\s+|./gsu;

/** Estimated number of UTF-8 bytes per prompt token. */
export const bytesPerPromptToken = 4;

/** Yields the tokens of a text in order. Concatenated they are the text. */
export function* splitTokens(text: string): Generator<string> {
  for (const [token] of text.matchAll(tokenPattern)) yield token;
}

/** Counts the tokens that {@link splitTokens} yields. */
export function countTokens(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(tokenPattern)) count += 1;
  return count;
}

/** Counts the tokens of one delta: one, except for a first delta that was padded. */
export function countDeltaTokens(delta: string): number {
  return delta.length > 64 ? countTokens(delta) : 1;
}

/** Truncates a text to `limit` tokens. Returns a shorter text unchanged. */
export function firstTokens(text: string, limit: number): string {
  let count = 0;
  for (const match of text.matchAll(tokenPattern)) {
    if (count === limit) return text.slice(0, match.index);
    count += 1;
  }
  return text;
}

/**
 * Estimates the tokens of a part of a prompt by its size, since prompts can be megabytes long and only their order of
 * magnitude matters.
 */
export function estimatePromptTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerPromptToken);
}
