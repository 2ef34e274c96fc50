/**
 * A bucket that fills steadily, like the limits of providers. Its level may be negative, since a call may use more than
 * it reserved.
 */
export class TokenBucket {
  readonly capacity: number;
  readonly #perMs: number;
  readonly #now: () => number;
  #level: number;
  #filledAt: number;

  /**
   * @param perMinute The amount that is added in a minute.
   * @param now Milliseconds of a monotonic clock.
   * @param capacity The maximum that the bucket holds. Default: the amount of a minute.
   */
  constructor(perMinute: number, now: () => number, capacity: number = perMinute) {
    this.capacity = capacity;
    this.#perMs = perMinute / 60_000;
    this.#now = now;
    this.#level = capacity;
    this.#filledAt = now();
  }

  /**
   * Milliseconds until an amount is available; 0 if it is available now. An amount above the capacity is computed as
   * for several waiting calls together.
   */
  msUntil(amount: number): number {
    return Math.max(0, (amount - this.#fill()) / this.#perMs);
  }

  /** Takes an amount, whether it is available or not. */
  take(amount: number): void {
    this.#level = this.#fill() - amount;
  }

  /** Puts back an amount that was taken and not used; a negative amount takes more. */
  refund(amount: number): void {
    this.#level = this.#fill() + amount;
  }

  #fill(): number {
    const now = this.#now();
    this.#level = Math.min(this.capacity, this.#level + (now - this.#filledAt) * this.#perMs);
    this.#filledAt = now;
    return this.#level;
  }
}
