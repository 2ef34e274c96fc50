import type { MemoryPool } from "../../core/memory-pool.ts";

/** Something that is kept in memory although it is not stored, until others need its memory. */
export interface Kept {
  /** Name of the caller's access key. */
  readonly owner: string;
  /** Drops the data, and releases its memory. */
  forget(): void;
}

/**
 * Responses that are not stored but kept for a time, within a memory limit: the latest responses of all WebSockets, and
 * recent answers with tool calls. When it is reached, the oldest ones are forgotten: requests that continue a response
 * are then refused, as if they had come over another connection.
 */
export class KeptResponses {
  readonly #pool: MemoryPool;
  /** In the order of age, oldest first. */
  readonly #kept = new Map<Kept, number>();

  constructor(pool: MemoryPool) {
    this.#pool = pool;
  }

  /** Takes memory for a response. Returns false if it does not fit even alone. */
  keep(response: Kept, bytes: number): boolean {
    const { owner } = response;
    while (!this.#pool.fits(bytes, owner)) {
      const oldest = this.#findOldest(this.#pool.isOwnerFull(bytes, owner) ? owner : undefined);
      if (oldest === undefined) return false;
      oldest.forget();
    }
    this.#kept.set(response, bytes);
    this.#pool.change(bytes, owner);
    return true;
  }

  /** Makes a response the newest one. */
  refresh(response: Kept): void {
    const bytes = this.#kept.get(response);
    if (bytes === undefined) return;
    this.#kept.delete(response);
    this.#kept.set(response, bytes);
  }

  #findOldest(owner: string | undefined): Kept | undefined {
    for (const kept of this.#kept.keys()) if (owner === undefined || kept.owner === owner) return kept;
    return undefined;
  }

  /** Gives back the memory of a response. */
  forget(response: Kept): void {
    const bytes = this.#kept.get(response);
    if (bytes === undefined) return;
    this.#kept.delete(response);
    this.#pool.change(-bytes, response.owner);
  }
}
