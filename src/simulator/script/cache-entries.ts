import { createHash } from "node:crypto";

/** Most entries that are remembered; the oldest are forgotten. */
const maximumEntries = 50_000;

/** What a cache of prompts holds: fingerprints of how prompts began, never the prompts. */
export interface CacheEntries {
  has(entry: string): boolean;
  /** Adds an entry, or makes it the newest one. */
  add(entry: string): void;
}

/** Creates a cache that holds nothing. */
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

/** The fingerprint of a beginning, made from that of the beginning before it and what follows there. */
export function fingerprintAfter(before: string, next: string | Buffer): string {
  return createHash("sha1").update(before).update(next).digest("base64");
}
