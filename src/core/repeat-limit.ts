/** Retries and fallbacks of one call, at most: of a generation, those of all its steps together. */
const MAX_REPEATS = 100;

/**
 * Counts the provider calls that repeat an earlier one on behalf of one call. Fallbacks, retries of the middleware and
 * retries of each step would multiply otherwise.
 */
export class RepeatLimit {
  #count = 0;

  get isReached(): boolean {
    return this.#count >= MAX_REPEATS;
  }

  add(): void {
    this.#count += 1;
  }
}
