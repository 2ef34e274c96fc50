import { useBreakpoints } from "./cache-breakpoints.ts";
import { type CacheEntries, createCacheEntries, fingerprintAfter } from "./cache-entries.ts";
import type { CacheUse } from "./cache-use.ts";
import type { Prompt } from "./prompt.ts";
import { bytesPerPromptToken } from "./tokens.ts";

/** Tokens per block of the prefix cache. Only whole blocks are found again. */
const blockTokens = 128;

const blockBytes = blockTokens * bytesPerPromptToken;

/** Remembers the prefixes of prompts, as providers do, but entries never expire. */
export interface PromptCache {
  /** Looks up a prompt of a model and remembers it. */
  use(model: string, prompt: Prompt): CacheUse;
}

/** Creates an empty cache. */
export function createPromptCache(): PromptCache {
  const entries = createCacheEntries();
  return {
    use: (model, { caching, segments }) =>
      caching.kind === "breakpoints"
        ? useBreakpoints(entries, model, segments, caching)
        : usePrefix(entries, model, segments, caching.minimumTokens),
  };
}

/** Finds the longest prefix in common with an earlier prompt, and remembers the whole prompt. */
function usePrefix(
  entries: CacheEntries,
  model: string,
  segments: readonly string[],
  minimumTokens: number,
): CacheUse {
  const blocks = getBlocks(model, Buffer.from(segments.join("\n")));
  const isShort = (count: number): boolean => count * blockTokens < minimumTokens;
  if (isShort(blocks.length)) return { cachedTokens: 0, cacheWriteTokens: 0, longCacheWriteTokens: 0 };
  const firstNew = blocks.findIndex((block) => !entries.has(block));
  const found = firstNew === -1 ? blocks.length : firstNew;
  for (const block of blocks) entries.add(block);
  const cached = isShort(found) ? 0 : found;
  return {
    cachedTokens: cached * blockTokens,
    cacheWriteTokens: (blocks.length - cached) * blockTokens,
    longCacheWriteTokens: 0,
  };
}

/** Returns one entry for each whole block. Each entry covers everything before its end. */
function getBlocks(model: string, prompt: Buffer): string[] {
  const blocks: string[] = [];
  let before = model;
  for (let end = blockBytes; end <= prompt.length; end += blockBytes) {
    before = fingerprintAfter(before, prompt.subarray(end - blockBytes, end));
    blocks.push(before);
  }
  return blocks;
}
