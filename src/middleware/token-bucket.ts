/** A bucket that fills steadily, as the limits of providers do. It may owe: a call may use more than it reserved. */
export class TokenBucket {
  readonly capacity: number;
  readonly #perMs: number;
  readonly #now: () => number;
  #level: number;
  #filledAt: number;

  /**
   * @param perMinute What is added in a minute.
   * @param now Milliseconds of a monotonic clock.
   * @param capacity The most that the bucket holds. Default: what is added in a minute.
   */
  constructor(perMinute: number, now: () => number, capacity: number = perMinute) {
    this.capacity = capacity;
    this.#perMs = perMinute / 60_000;
    this.#now = now;
    this.#level = capacity;
    this.#filledAt = now();
  }

  /** Milliseconds until an amount is there; 0: now. An amount above the capacity counts as waiting calls do, together. */
  msUntil(amount: number): number {
    return Math.max(0, (amount - this.#fill()) / this.#perMs);
  }

  /** Takes an amount, whether it is there or not. */
  take(amount: number): void {
    this.#level = this.#fill() - amount;
  }

  /** Puts back what was taken and not used; less than 0 takes more. */
  giveBack(amount: number): void {
    this.#level = Math.min(this.capacity, this.#fill() + amount);
  }

  #fill(): number {
    const now = this.#now();
    this.#level = Math.min(this.capacity, this.#level + (now - this.#filledAt) * this.#perMs);
    this.#filledAt = now;
    return this.#level;
  }
}
