import type { Caller } from "../core/caller.ts";
import type { CallerRate, SharedRule } from "../middleware/shared/shared-stores.ts";

/** The permissions and limits of a caller. */
export interface CallerGrants extends Omit<Caller, "name"> {
  /** Undefined if there is no limit. */
  readonly rateLimit: AccessRateLimit | undefined;
}

/** An entry of the file with the access keys: a caller and the digests of its keys. */
export interface AccessKey extends Caller, CallerGrants {
  /** Name of the caller's certificate, which replaces a key. Undefined if it has none. */
  readonly certificate?: string | undefined;
  /** SHA-256 digests of the keys: none, one, or several while the key is rotated. 32 bytes each. */
  readonly digests: readonly Buffer[];
}

/** Limits how often a caller may call. */
export interface AccessRateLimit extends CallerRate, SharedRule {}
