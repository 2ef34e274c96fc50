import { createHash } from "node:crypto";
import type { Prompt } from "./prompt.ts";

/** Tokens in one block of the cache. Only whole blocks are found again. */
const blockTokens = 128;

/** Bytes of a prompt that make a block, at four bytes a token. */
const blockBytes = blockTokens * 4;

/** Least tokens that a prompt must have to be cached. */
const minimumTokens = 1024;

/** Most blocks that are remembered; the oldest are forgotten. */
const maximumBlocks = 50_000;

/** What the cache did for one prompt. */
interface CacheUse {
  /** Tokens at the beginning of the prompt that an earlier prompt began with, too. */
  readonly cachedTokens: number;
  /** Tokens that are in the cache from now on. */
  readonly cacheWriteTokens: number;
}

/** Remembers how prompts began, as providers do. */
export interface PromptCache {
  /** Looks a prompt of a model up and remembers it. */
  use(model: string, prompt: Prompt): CacheUse;
}

/** Creates an empty cache. It keeps fingerprints of blocks, never the prompts. */
export function createPromptCache(): PromptCache {
  const known = new Set<string>();
  const use = (model: string, prompt: Prompt): CacheUse => {
    const blocks = fingerprints(model, Buffer.from(prompt.segments.join("\n")));
    if (blocks.length * blockTokens < minimumTokens) return { cachedTokens: 0, cacheWriteTokens: 0 };
    const firstNew = blocks.findIndex((block) => !known.has(block));
    const found = firstNew === -1 ? blocks.length : firstNew;
    for (const block of blocks) remember(known, block);
    const cached = found * blockTokens >= minimumTokens ? found : 0;
    return { cachedTokens: cached * blockTokens, cacheWriteTokens: (blocks.length - cached) * blockTokens };
  };
  return { use };
}

/** One fingerprint for each whole block, each covering all that comes before it. */
function fingerprints(model: string, prompt: Buffer): string[] {
  const blocks: string[] = [];
  let before = model;
  for (let end = blockBytes; end <= prompt.length; end += blockBytes) {
    before = createHash("sha1")
      .update(before)
      .update(prompt.subarray(end - blockBytes, end))
      .digest("base64");
    blocks.push(before);
  }
  return blocks;
}

function remember(known: Set<string>, block: string): void {
  known.delete(block);
  known.add(block);
  if (known.size <= maximumBlocks) return;
  const [oldest] = known;
  if (oldest !== undefined) known.delete(oldest);
}
