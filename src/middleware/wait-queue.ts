import { toAbortError } from "../kit/http/abort.ts";
import type { TokenBucket } from "./token-bucket.ts";

/** Amounts to take, one for each bucket of a queue. */
export type Amounts = readonly number[];

/** Why a queue refuses a call: no bucket has enough for it in time, or too many wait. */
export interface QueueRefusal {
  /** Index of the bucket that the call would wait for longest. */
  readonly bucket: number;
  /** Milliseconds until its turn would come. */
  readonly waitMs: number;
}

/** Puts amounts back that were taken and not used, one for each bucket. Negative amounts take more. */
export type Refund = (amounts: Amounts) => void;

/** Gives calls their turn. */
export interface RateStore {
  /**
   * Takes amounts, after a wait if necessary. Returns a refusal if that would take too long.
   * @param maxMs Milliseconds after which a turn is of no use to the call.
   */
  take(
    amounts: Amounts,
    maxMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Refund | QueueRefusal | UncountedCall>;
}

/** A call that is refused since it cannot be counted. */
export interface UncountedCall {
  /** The server that cannot be reached, and its problem. */
  readonly away: string;
}

/** Limits of a queue. */
export interface QueueLimits {
  /** Maximum number of waiting calls. */
  readonly maxQueue: number;
  /** Maximum wait of a call, in milliseconds. */
  readonly maxWaitMs: number;
}

interface Waiting {
  readonly amounts: Amounts;
  /** When the call has waited long enough. All calls may wait equally long, so the first one expires first. */
  readonly expiresAt: number;
  readonly turn: PromiseWithResolvers<QueueRefusal | Refund>;
}

/** Calls that wait, in order, until some buckets have the amounts that they need. All calls share one timer. */
export class WaitQueue implements RateStore {
  readonly #buckets: readonly TokenBucket[];
  readonly #limits: QueueLimits;
  readonly #now: () => number;
  readonly #queue: Waiting[] = [];
  /** Sums of the amounts that the queue waits for. */
  readonly #ahead: number[];
  #timer: NodeJS.Timeout | undefined;

  /** @param now Milliseconds of the buckets' clock. */
  constructor(buckets: readonly TokenBucket[], limits: QueueLimits, now: () => number) {
    this.#buckets = buckets;
    this.#limits = limits;
    this.#now = now;
    this.#ahead = buckets.map(() => 0);
  }

  async take(
    amounts: Amounts,
    maxMs: number,
    signal: AbortSignal | undefined,
  ): Promise<QueueRefusal | Refund> {
    const refusal = this.#longestWait(amounts, this.#ahead);
    if (refusal.waitMs === 0) {
      this.#takeNow(amounts);
      return this.refund;
    }
    const isTooLong = refusal.waitMs > this.#limits.maxWaitMs || refusal.waitMs >= maxMs;
    if (isTooLong || this.#queue.length >= this.#limits.maxQueue) return refusal;
    return this.#wait(amounts, signal);
  }

  /** Puts amounts back, which may be negative, and lets calls continue for which there is enough now. */
  readonly refund = (amounts: Amounts): void => {
    for (const [index, bucket] of this.#buckets.entries()) bucket.refund(amounts[index] ?? 0);
    this.#advance();
  };

  /** Returns the wait for the slowest bucket, after the amounts that other calls already wait for. */
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

  async #wait(amounts: Amounts, signal: AbortSignal | undefined): Promise<QueueRefusal | Refund> {
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

  /** Lets calls continue in their order while there is enough for them, and refuses those that have waited too long. */
  #advance(): void {
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      const refusal = this.#longestWait(first.amounts, []);
      const hasTurn = refusal.waitMs === 0;
      if (!hasTurn && this.#now() < first.expiresAt) break;
      this.#remove(first);
      if (hasTurn) this.#takeNow(first.amounts);
      first.turn.resolve(hasTurn ? this.refund : refusal);
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
