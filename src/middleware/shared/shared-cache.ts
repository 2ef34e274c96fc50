import {
  type CacheOptions,
  type CacheStore,
  createLocalCacheStore,
  getMaxAgeMs,
  type StoredAnswer,
} from "../cache.ts";
import type { WhenAway } from "./reconnecting-connection.ts";
import { createScript } from "./scripts.ts";
import type { Valkey } from "./valkey.ts";

/** Argument: the largest value in bytes, plus one. Another program's value may be far larger, or not a string. */
const GET = createScript(`
if redis.call('TYPE', KEYS[1]).ok ~= 'string' then return false end
return {redis.call('GETRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1), redis.call('PTTL', KEYS[1])}
`);

/** Arguments: the value, and the milliseconds after which it expires. */
const SET = createScript("return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])");

/**
 * A value begins with these bytes, whose last one is the version of the format, and with the milliseconds for which it
 * was kept (4 bytes, big-endian). An encoded `Response` follows. Values of other versions are ignored.
 */
const MAGIC = Buffer.from("outrigger1");
const HEADER_BYTES = MAGIC.length + 4;

/** Largest answer that sidecars share by default, in bytes. */
const DEFAULT_MAX_SHARED_BYTES = 1024 * 1024;

/** Longest lifetime that fits into the header, in milliseconds. */
const MAX_KEPT_MS = 2 ** 32 - 1;

/** Answers shared by sidecars. While the server is unavailable, each sidecar caches in memory, or not at all. */
export class SharedCacheStore implements CacheStore {
  readonly #valkey: Valkey;
  readonly #maxValueBytes: number;
  readonly #maxAgeMs: number;
  readonly #local: CacheStore | undefined;

  constructor(
    valkey: Valkey,
    rule: CacheOptions & { readonly maxEntryBytes?: number | undefined },
    whenAway: WhenAway,
  ) {
    this.#valkey = valkey;
    this.#maxValueBytes = HEADER_BYTES + (rule.maxEntryBytes ?? DEFAULT_MAX_SHARED_BYTES);
    this.#maxAgeMs = Math.min(getMaxAgeMs(rule), MAX_KEPT_MS);
    this.#local = whenAway === "local" ? createLocalCacheStore(rule) : undefined;
  }

  async get(key: string): Promise<StoredAnswer | undefined> {
    try {
      const args = [String(this.#maxValueBytes + 1)];
      return await this.#valkey.run(GET, toCacheKey(key), args, (reply) => this.#read(reply));
    } catch {
      return this.#local?.get(key);
    }
  }

  set(key: string, bytes: Uint8Array): void {
    const size = HEADER_BYTES + bytes.byteLength;
    if (size > this.#maxValueBytes) return;
    const value = Buffer.alloc(size);
    value.set(MAGIC);
    value.writeUInt32BE(this.#maxAgeMs, MAGIC.length);
    value.set(bytes, HEADER_BYTES);
    this.#valkey
      .run(SET, toCacheKey(key), [value, String(this.#maxAgeMs)], () => {})
      .catch(() => this.#local?.set(key, bytes));
  }

  #read(reply: unknown): StoredAnswer | undefined {
    const [value, leftMs] = Array.isArray(reply) ? reply : [];
    if (!Buffer.isBuffer(value) || typeof leftMs !== "number" || leftMs < 0) return undefined;
    const isOurs = value.length >= HEADER_BYTES && value.subarray(0, MAGIC.length).equals(MAGIC);
    if (!isOurs || value.length > this.#maxValueBytes) return undefined;
    const ageMs = value.readUInt32BE(MAGIC.length) - leftMs;
    if (ageMs < 0 || ageMs >= this.#maxAgeMs) return undefined;
    return { bytes: value.subarray(HEADER_BYTES), storedAt: performance.now() - ageMs };
  }
}

function toCacheKey(key: string): string {
  return `cache:${key}`;
}
