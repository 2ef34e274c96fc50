import { type CacheEntries, fingerprintAfter } from "./cache-entries.ts";
import type { CacheUse } from "./cache-use.ts";
import type { CacheBreakpoint } from "./prompt.ts";
import { bytesPerPromptToken } from "./tokens.ts";

/** Number of segments before a breakpoint, including its segment, in which an entry that ends there is found. */
const lookback = 20;

/** The end of a prompt's segment, at which a cache entry may end. */
interface SegmentEnd {
  /** Fingerprint of everything up to here. */
  readonly entry: string;
  /** Tokens up to here. */
  readonly tokens: number;
}

/** The caching that a request asks for. */
interface CacheSettings {
  readonly minimumTokens: number;
  readonly breakpoints: readonly CacheBreakpoint[];
}

/**
 * Reads the longest entry that ends at a breakpoint or shortly before one, and writes an entry for each later
 * breakpoint. The segments between two breakpoints are written with the lifetime of the second one.
 */
export function useBreakpoints(
  entries: CacheEntries,
  model: string,
  segments: readonly string[],
  { breakpoints, minimumTokens }: CacheSettings,
): CacheUse {
  const ends = getEnds(model, segments);
  const isLongEnough = (end: SegmentEnd | undefined): boolean => (end?.tokens ?? 0) >= minimumTokens;
  const places = breakpoints.filter(({ segment }) => isLongEnough(ends[segment]));
  const found = places
    .map(({ segment }) => ends.slice(Math.max(0, segment - lookback + 1), segment + 1))
    .map((within) => within.findLast((end) => isLongEnough(end) && entries.has(end.entry))?.tokens ?? 0);
  const cachedTokens = Math.max(0, ...found);
  let written = cachedTokens;
  let longCacheWriteTokens = 0;
  for (const { segment, long } of places) {
    const { entry = "", tokens = 0 } = ends[segment] ?? {};
    const added = Math.max(0, tokens - written);
    written += added;
    if (long) longCacheWriteTokens += added;
    entries.add(entry);
  }
  return { cachedTokens, cacheWriteTokens: written - cachedTokens, longCacheWriteTokens };
}

function getEnds(model: string, segments: readonly string[]): SegmentEnd[] {
  let entry = `breakpoints of ${model}`;
  let bytes = 0;
  return segments.map((segment) => {
    entry = fingerprintAfter(entry, segment);
    bytes += Buffer.byteLength(segment);
    return { entry, tokens: Math.floor(bytes / bytesPerPromptToken) };
  });
}
