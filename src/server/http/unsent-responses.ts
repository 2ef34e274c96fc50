import type { MemoryAccount } from "../../core/memory-account.ts";
import type { MemoryPool } from "../../core/memory-pool.ts";

/** A response whose peer may be slow to read. */
export interface UnsentResponse {
  /** Ends the response at once: its peer does not read, and others need the memory. */
  cutOff(): void;
}

/** Smaller writes are not counted: a call has at most one, and the number of calls is limited. */
const MIN_BYTES = 16 * 1024;

/** A peer has stalled if it has not taken a write, or a slice of a large one, for this many milliseconds. */
const STALLED_MS = 2000;

/** Interval of the checks for stalled responses while too many bytes wait, in milliseconds. */
const CHECK_INTERVAL_MS = 500;

/**
 * Multiple of the limit that may wait while no peer has stalled. Above it, even a peer that may be reading is cut off.
 */
const MAX_EXCESS = 2;

interface Waiting {
  readonly bytes: number;
  /** Time at which the peer last took bytes, in milliseconds of a monotonic clock. */
  readonly since: number;
}

/**
 * Counts the bytes of responses that wait for their readers, in the whole process. Each response has at most one write
 * in progress, so the sizes of those writes are counted. If they exceed the limit, or others wait for memory, responses
 * whose peers have stopped reading are cut off. A response whose peer reads is not.
 */
export class UnsentResponses {
  readonly #pool: MemoryPool;
  readonly #now: () => number;
  /** In the order of their last progress, oldest first. */
  readonly #waiting = new Map<UnsentResponse, Waiting>();
  #timer: NodeJS.Timeout | undefined;

  /** @param now Milliseconds of a monotonic clock. */
  constructor(account: MemoryAccount, now: () => number = () => performance.now()) {
    this.#pool = account.unsent;
    this.#now = now;
    for (const pool of [account.answers, account.reads]) pool.onShortage(() => this.#cutOffStalled());
  }

  /** Number of waiting bytes, in writes that are counted. */
  get bytes(): number {
    return this.#pool.usedBytes;
  }

  /** Adds a response that waits until that many bytes have left. Replaces its earlier wait. */
  add(response: UnsentResponse, bytes: number): void {
    this.remove(response);
    if (bytes < MIN_BYTES) return;
    this.#waiting.set(response, { bytes, since: this.#now() });
    this.#pool.change(bytes, "");
    if (this.#isOver()) this.#relieve();
  }

  /** Removes a response whose bytes have left, or never will. */
  remove(response: UnsentResponse): void {
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting.get(response);
    if (waiting === undefined) return;
    this.#waiting.delete(response);
    this.#pool.change(-waiting.bytes, "");
  }

  #isOver(times = 1): boolean {
    return this.#pool.usedBytes > times * this.#pool.maxBytes;
  }

  #relieve(): void {
    for (const [response, { since }] of this.#waiting) {
      // The last one is kept even if it exceeds the limit: its peer has not had a chance to read it.
      if (!this.#isOver() || this.#waiting.size === 1) break;
      if (this.#now() - since < STALLED_MS && !this.#isOver(MAX_EXCESS)) break;
      this.#end(response);
    }
    clearTimeout(this.#timer);
    if (this.#isOver()) this.#timer = setTimeout(() => this.#relieve(), CHECK_INTERVAL_MS).unref();
  }

  #cutOffStalled(): void {
    for (const [response, { since }] of this.#waiting) {
      if (this.#now() - since < STALLED_MS) return;
      this.#end(response);
    }
  }

  #end(response: UnsentResponse): void {
    this.remove(response);
    response.cutOff();
  }
}
