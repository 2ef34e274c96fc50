import type { MemoryPool } from "../../core/memory-pool.ts";

/** A response in the cache. */
export interface CachedResponse {
  /** Name of the caller's access key. */
  readonly owner: string;
  /** Drops the data and calls `ResponseCache.delete`. */
  forget(): void;
}

/**
 * An LRU cache of responses that are not stored: the latest responses of all WebSockets, and recent answers with tool
 * calls. Requests that continue an evicted response are refused, as if they had come over another connection.
 */
export class ResponseCache {
  readonly #pool: MemoryPool;
  /** Sizes of the responses in bytes, least recently used first. */
  readonly #bytes = new Map<CachedResponse, number>();

  constructor(pool: MemoryPool) {
    this.#pool = pool;
  }

  /** Adds a response. Returns false if it does not fit even alone. */
  add(response: CachedResponse, bytes: number): boolean {
    const { owner } = response;
    while (!this.#pool.fits(bytes, owner)) {
      const oldest = this.#findOldest(this.#pool.isOwnerFull(bytes, owner) ? owner : undefined);
      if (oldest === undefined) return false;
      oldest.forget();
    }
    this.#bytes.set(response, bytes);
    this.#pool.change(bytes, owner);
    return true;
  }

  /** Marks a response as used. */
  touch(response: CachedResponse): void {
    const bytes = this.#bytes.get(response);
    if (bytes === undefined) return;
    this.#bytes.delete(response);
    this.#bytes.set(response, bytes);
  }

  #findOldest(owner: string | undefined): CachedResponse | undefined {
    for (const response of this.#bytes.keys())
      if (owner === undefined || response.owner === owner) return response;
    return undefined;
  }

  /** Removes a response and releases its memory. */
  delete(response: CachedResponse): void {
    const bytes = this.#bytes.get(response);
    if (bytes === undefined) return;
    this.#bytes.delete(response);
    this.#pool.change(-bytes, response.owner);
  }
}
