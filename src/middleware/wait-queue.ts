import { toAbortError } from "../kit/http/abort.ts";
import type { TokenBucket } from "./token-bucket.ts";

/** Amounts to take, one for each bucket of a queue. */
export type Amounts = readonly number[];

/** Why a queue refuses a call: no bucket has enough for it in time, or too many wait. */
export interface QueueRefusal {
  /** Index of the bucket that keeps it waiting for the longest time. */
  readonly bucket: number;
  /** Milliseconds until its turn would come. */
  readonly waitMs: number;
}

/** What bounds the waits of a queue. */
export interface QueueLimits {
  /** Calls that wait at once. */
  readonly maxQueue: number;
  /** Milliseconds that a call waits at most. */
  readonly maxWaitMs: number;
}

interface Waiting {
  readonly amounts: Amounts;
  /** When it has waited for long enough. All wait equally long, so the first one is the first to give up. */
  readonly expiresAt: number;
  readonly turn: PromiseWithResolvers<QueueRefusal | undefined>;
}

/** Calls that wait, in order, until some buckets have what they need. One timer for all of them. */
export class WaitQueue {
  readonly #buckets: readonly TokenBucket[];
  readonly #limits: QueueLimits;
  readonly #now: () => number;
  readonly #queue: Waiting[] = [];
  /** Sums of what the queue waits for. */
  readonly #ahead: number[];
  #timer: NodeJS.Timeout | undefined;

  /** @param now Milliseconds of the buckets' clock. */
  constructor(buckets: readonly TokenBucket[], limits: QueueLimits, now: () => number) {
    this.#buckets = buckets;
    this.#limits = limits;
    this.#now = now;
    this.#ahead = buckets.map(() => 0);
  }

  /** Takes amounts, after a wait where need be. Returns a refusal where that would take too long. */
  async take(
    amounts: Amounts,
    maxMs: number,
    signal: AbortSignal | undefined,
  ): Promise<QueueRefusal | undefined> {
    const refusal = this.#longestWait(amounts, this.#ahead);
    if (refusal.waitMs === 0) {
      this.#takeNow(amounts);
      return undefined;
    }
    const isTooLong = refusal.waitMs > this.#limits.maxWaitMs || refusal.waitMs >= maxMs;
    if (isTooLong || this.#queue.length >= this.#limits.maxQueue) return refusal;
    return this.#wait(amounts, signal);
  }

  /** Puts amounts back, which may be less than 0, and lets calls go on for which there is enough now. */
  giveBack(amounts: Amounts): void {
    for (const [index, bucket] of this.#buckets.entries()) bucket.giveBack(amounts[index] ?? 0);
    this.#advance();
  }

  /** The wait for the bucket that takes longest, behind what is waited for already. */
  #longestWait(amounts: Amounts, ahead: Amounts): QueueRefusal {
    let longest: QueueRefusal = { bucket: 0, waitMs: 0 };
    for (const [index, bucket] of this.#buckets.entries()) {
      const waitMs = bucket.msUntil((ahead[index] ?? 0) + (amounts[index] ?? 0));
      if (waitMs > longest.waitMs) longest = { bucket: index, waitMs };
    }
    return longest;
  }

  #takeNow(amounts: Amounts): void {
    for (const [index, bucket] of this.#buckets.entries()) bucket.take(amounts[index] ?? 0);
  }

  async #wait(amounts: Amounts, signal: AbortSignal | undefined): Promise<QueueRefusal | undefined> {
    if (signal?.aborted) throw toAbortError(signal);
    const expiresAt = this.#now() + this.#limits.maxWaitMs;
    const waiting: Waiting = { amounts, expiresAt, turn: Promise.withResolvers() };
    const leave = () => {
      this.#remove(waiting);
      if (signal !== undefined) waiting.turn.reject(toAbortError(signal));
      this.#advance();
    };
    this.#queue.push(waiting);
    this.#addAhead(amounts, 1);
    signal?.addEventListener("abort", leave, { once: true });
    this.#schedule();
    try {
      return await waiting.turn.promise;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  /** Lets calls go on in their order while there is enough for them, and gives up those that have waited too long. */
  #advance(): void {
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      const refusal = this.#longestWait(first.amounts, []);
      const hasTurn = refusal.waitMs === 0;
      if (!hasTurn && this.#now() < first.expiresAt) break;
      this.#remove(first);
      if (hasTurn) this.#takeNow(first.amounts);
      first.turn.resolve(hasTurn ? undefined : refusal);
    }
    this.#schedule();
  }

  #remove(waiting: Waiting): void {
    this.#queue.splice(this.#queue.indexOf(waiting), 1);
    this.#addAhead(waiting.amounts, -1);
  }

  #addAhead(amounts: Amounts, sign: 1 | -1): void {
    for (const index of this.#ahead.keys())
      this.#ahead[index] = (this.#ahead[index] ?? 0) + sign * (amounts[index] ?? 0);
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    const first = this.#queue[0];
    if (first === undefined) return;
    const { waitMs } = this.#longestWait(first.amounts, []);
    const ms = Math.max(0, Math.min(waitMs, first.expiresAt - this.#now()));
    this.#timer = setTimeout(() => this.#advance(), Math.ceil(ms));
  }
}
