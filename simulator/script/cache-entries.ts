import { createHash } from "node:crypto";

/** Maximum number of entries; the oldest are dropped. */
const maximumEntries = 50_000;

/** The contents of a prompt cache: fingerprints of prefixes, never the prompts. */
export interface CacheEntries {
  has(entry: string): boolean;
  /** Adds an entry, or makes an existing one the newest. */
  add(entry: string): void;
}

/** Creates an empty cache. */
export function createCacheEntries(): CacheEntries {
  const known = new Set<string>();
  return {
    has: (entry) => known.has(entry),
    add: (entry) => {
      known.delete(entry);
      known.add(entry);
      if (known.size <= maximumEntries) return;
      const [oldest] = known;
      if (oldest !== undefined) known.delete(oldest);
    },
  };
}

/**
 * Returns the fingerprint of a prefix, computed from the fingerprint of a shorter prefix and the text that follows it.
 */
export function fingerprintAfter(before: string, next: string | Buffer): string {
  return createHash("sha1").update(before).update(next).digest("base64");
}
