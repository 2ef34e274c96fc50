/** Maximum number of retries and fallbacks of one call; for a generation, of all its steps together. */
const MAX_REPEATS = 100;

/**
 * Counts the provider calls that repeat an earlier one on behalf of one call. Otherwise fallbacks, retries of the
 * middleware and retries of each step would multiply.
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
