/** What the cache did for one prompt. */
export interface CacheUse {
  /** Tokens at the beginning of the prompt that were read from the cache. */
  readonly cachedTokens: number;
  /** Tokens that were written to the cache. */
  readonly cacheWriteTokens: number;
  /** Those of them that were written for an hour. */
  readonly longCacheWriteTokens: number;
}
