/**
 * Makes room in a store with a limited space. Runs under way cannot be removed, so they may use half of it; in memory,
 * the oldest runs that are over are removed when the rest is used up.
 */
import { StoreFullError } from "../errors.ts";
import type { Call, Driver, Space, SpaceUse } from "./driver.ts";

/** The share of the space that runs under way may use. */
const UNDER_WAY_SHARE = 1 / 2;

/** The share that is used after a change, at most. The last pages are for deletions and for small changes of rows. */
const SHARES: Readonly<Record<SpaceUse, number>> = { create: 7 / 8, append: 15 / 16, end: 63 / 64, any: 1 };

/** Runs that are removed at a time. */
const BATCH = 8;

/** The size of a page of SQLite, and about what a row takes besides its body, with its entries of indexes. */
const PAGE_BYTES = 4096;
const ROW_BYTES = 200;

/** The space that the bodies of statements take, in bytes: a large one has pages of its own. */
export function countBytes(calls: readonly Call[]): number {
  let sum = 0;
  for (const { values } of calls) {
    for (const value of values) if (value instanceof Uint8Array) sum += getBodySpace(value.byteLength);
  }
  return sum;
}

/** The space that a body of this size takes, in bytes. */
export function getBodySpace(bytes: number): number {
  return bytes < PAGE_BYTES / 4 ? bytes + ROW_BYTES : Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES + ROW_BYTES;
}

/** The number of bytes that a change may leave used. */
export function getSpaceLimit(space: Space, use: SpaceUse): number {
  return Math.floor(space.maxBytes * SHARES[use]);
}

/** There is no space for a change, unless other rows are removed. */
export class NoRoomError extends StoreFullError {
  readonly missingBytes: number;

  constructor(message: string, missingBytes: number) {
    super(message);
    this.missingBytes = missingBytes;
  }
}

/** Options of a Room. */
export interface RoomOptions {
  /** Removes the oldest runs or conversations that are over, at most so many. Returns the number. */
  readonly evict: (limit: number) => Promise<number>;
  /** Called when runs are removed for the first time. */
  readonly onFirstEviction: () => void;
}

/** The room for runs. */
export class Room {
  readonly #space: Space | undefined;
  readonly #options: RoomOptions;
  /** Bytes that were written for runs under way, by their ids. */
  readonly #underWay = new Map<string, number>();
  #underWayBytes = 0;
  #hasEvicted = false;

  constructor({ space }: Pick<Driver, "space">, options: RoomOptions) {
    this.#space = space;
    this.#options = options;
  }

  /** @throws StoreFullError if runs under way use their share already. */
  checkCreation(bytes: number): void {
    if (this.#space === undefined || this.#underWayBytes + bytes <= this.#space.maxBytes * UNDER_WAY_SHARE) {
      return;
    }
    throw new StoreFullError(
      `the queued runs and those in progress take more than half of the space for runs; raise ${this.#space.setting}`,
    );
  }

  /** Records bytes that were written for a run under way. */
  add(runId: string, bytes: number): void {
    if (this.#space === undefined) return;
    this.#underWay.set(runId, (this.#underWay.get(runId) ?? 0) + bytes);
    this.#underWayBytes += bytes;
  }

  /** Records that a run is not under way any more. */
  remove(runId: string): void {
    this.#underWayBytes -= this.#underWay.get(runId) ?? 0;
    this.#underWay.delete(runId);
  }

  /** Executes a change, again after removing old runs if it finds no room. */
  make<Result>(change: () => Promise<Result>): Promise<Result> {
    const space = this.#space;
    if (space?.evicts !== true) return change();
    return change().catch(async (thrown: unknown) => {
      if (!(thrown instanceof NoRoomError)) throw thrown;
      const target = space.usedBytes() - thrown.missingBytes;
      let removed = 0;
      do {
        const count = await this.#options.evict(BATCH);
        removed += count;
        if (count === 0) break;
      } while (space.usedBytes() > target);
      if (removed === 0) throw thrown;
      if (!this.#hasEvicted) this.#options.onFirstEviction();
      this.#hasEvicted = true;
      return this.make(change);
    });
  }
}
