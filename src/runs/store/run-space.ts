/**
 * Frees space in a store with a space limit. Runs in progress cannot be removed, so they may use half of it; in memory,
 * the oldest runs that are over are removed when the rest is used up.
 */
import { InternalError } from "../../core/errors.ts";
import { StoreFullError } from "../errors.ts";
import type { Call, Space, SpaceUse } from "./driver.ts";

/** The share of the space that runs in progress may use. */
const UNFINISHED_SHARE = 1 / 2;

/**
 * The maximum share that may be used after a change. The last pages are for deletions and for small changes of rows.
 */
const SHARES: Readonly<Record<SpaceUse, number>> = { create: 7 / 8, append: 15 / 16, end: 63 / 64, any: 1 };

/** Runs that are removed at a time. */
const BATCH = 8;

/** Returns the number of bytes that a change may leave used. */
export function getSpaceLimit(space: Space, use: SpaceUse): number {
  return Math.floor(space.maxBytes * SHARES[use]);
}

/** There is no space for a change, unless other rows are removed. */
export class NoSpaceError extends StoreFullError {
  readonly missingBytes: number;

  constructor(message: string, missingBytes: number) {
    super(message);
    this.missingBytes = missingBytes;
  }
}

/** Returns the failure of a change for which this number of bytes is missing. */
export function createRefusal({ setting }: Space, missingBytes: number): NoSpaceError {
  return new NoSpaceError(`the store of runs has no space left; raise ${setting}`, missingBytes);
}

/** Estimated maximum of what a statement uses in addition to its bodies, in bytes: pages for rows and index entries. */
const STATEMENT_BYTES = 3 * 4096;

/** Measures a space only near its limit. Far from it, adding up the maximum use of each change is enough. */
export class SpaceMeter {
  readonly #space: Space;
  /** Used bytes at the last measurement, plus the bytes that changes may have used since. */
  #usedAtMost = Number.POSITIVE_INFINITY;

  constructor(space: Space) {
    this.#space = space;
  }

  /** Reports whether statements fit, as far as that is known without a measurement. */
  hasSpaceFor(calls: readonly Call[], use: SpaceUse): boolean {
    for (const { values } of calls) {
      this.#usedAtMost += STATEMENT_BYTES;
      for (const value of values) if (value instanceof Uint8Array) this.#usedAtMost += value.byteLength;
    }
    return use === "any" || this.#usedAtMost <= getSpaceLimit(this.#space, use);
  }

  /** Measures the space after a change. @throws NoSpaceError if the change used too much space. */
  check(use: SpaceUse): void {
    if (use === "any") return;
    this.#usedAtMost = this.#space.usedBytes();
    const missing = this.#usedAtMost - getSpaceLimit(this.#space, use);
    if (missing > 0) throw createRefusal(this.#space, missing);
  }
}

/** The room for runs in a limited space. */
export class RunSpace {
  readonly #space: Space;
  readonly #evict: (limit: number) => Promise<number>;
  readonly #onProblem: (problem: unknown) => void;
  /** Bytes that were written for runs in progress, by their ids. */
  readonly #unfinished = new Map<string, number>();
  #unfinishedBytes = 0;
  #hasEvicted = false;

  /**
   * @param evict Removes at most this number of the oldest runs or conversations that are over. Returns the number.
   * @param onProblem Called when runs are removed for the first time.
   */
  constructor(
    space: Space,
    evict: (limit: number) => Promise<number>,
    onProblem: (problem: unknown) => void,
  ) {
    this.#space = space;
    this.#evict = evict;
    this.#onProblem = onProblem;
  }

  /** @throws StoreFullError if runs in progress use their share already. */
  checkCreation(bytes: number): void {
    if (this.#unfinishedBytes + bytes <= this.#space.maxBytes * UNFINISHED_SHARE) return;
    throw new StoreFullError(
      `queued runs and runs in progress take more than half of the space for runs; raise ${this.#space.setting}`,
    );
  }

  /** Records bytes that were written for a run in progress. */
  add(runId: string, bytes: number): void {
    this.#unfinished.set(runId, (this.#unfinished.get(runId) ?? 0) + bytes);
    this.#unfinishedBytes += bytes;
  }

  /** Records that a run is no longer in progress. */
  remove(runId: string): void {
    this.#unfinishedBytes -= this.#unfinished.get(runId) ?? 0;
    this.#unfinished.delete(runId);
  }

  /** Executes a change. If there is no room for it, removes old runs and repeats it. */
  executeWithEviction<Result>(change: () => Promise<Result>): Promise<Result> {
    const space = this.#space;
    if (!space.evicts) return change();
    return change().catch(async (thrown: unknown) => {
      if (!(thrown instanceof NoSpaceError)) throw thrown;
      const target = space.usedBytes() - thrown.missingBytes;
      let removed = 0;
      do {
        const count = await this.#evict(BATCH);
        removed += count;
        if (count === 0) break;
      } while (space.usedBytes() > target);
      if (removed === 0) throw thrown;
      if (!this.#hasEvicted)
        this.#onProblem(
          new InternalError(
            "the store of runs in memory is full, so the oldest finished runs are removed, even if nobody has " +
              `read them: raise ${space.setting}, or set runs.store to a file or a PostgreSQL database`,
          ),
        );
      this.#hasEvicted = true;
      return this.executeWithEviction(change);
    });
  }
}
