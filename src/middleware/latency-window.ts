/** Number of times that are kept. */
const SIZE = 256;

/** Number of new times after which percentiles are recomputed. */
const REFRESH = 16;

/** The latest times of a model, in milliseconds. */
export class LatencyWindow {
  readonly #times: number[] = [];
  #count = 0;
  #sorted: readonly number[] = [];
  #sortedAt = 0;

  /** Adds a time, which replaces the oldest one. */
  add(milliseconds: number): void {
    this.#times[this.#count % SIZE] = milliseconds;
    this.#count += 1;
  }

  /** Returns a percentile, which may not include the latest times. Undefined if fewer than `min` times are known. */
  getPercentile(percentile: number, min: number): number | undefined {
    if (this.#count < min) return undefined;
    if (this.#sorted.length === 0 || this.#count - this.#sortedAt >= REFRESH) {
      this.#sorted = this.#times.toSorted((left, right) => left - right);
      this.#sortedAt = this.#count;
    }
    return this.#sorted[Math.ceil((this.#sorted.length * percentile) / 100) - 1];
  }
}
