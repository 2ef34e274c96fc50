import type { Caller } from "../core/caller.ts";

/** An entry of the file with the access keys: a caller, and how it shows who it is. */
export interface AccessKey extends Caller {
  /** SHA-256 digests of the keys: one, or two while the key is rotated. 32 bytes each. */
  readonly digests: readonly Buffer[];
  /** Undefined: no limit. */
  readonly rateLimit: AccessRateLimit | undefined;
}

/** How often a caller may call. */
export interface AccessRateLimit {
  readonly requestsPerMinute: number;
  /** Requests that may come at once. */
  readonly burst: number;
}
