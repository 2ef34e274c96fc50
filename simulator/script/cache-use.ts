/** The effect of the cache on one prompt. */
export interface CacheUse {
  /** Tokens at the beginning of the prompt that were read from the cache. */
  readonly cachedTokens: number;
  /** Tokens that were written to the cache. */
  readonly cacheWriteTokens: number;
  /** Tokens among the written ones whose entry lasts an hour. */
  readonly longCacheWriteTokens: number;
}
