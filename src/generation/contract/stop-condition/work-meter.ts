/**
 * Maximum work of one evaluation: about 0.1 s. One unit is a call of a function or an iteration of a loop; texts and
 * lists that a function reads count by their length.
 */
const MAX_WORK = 100_000;

/** Counts the work of one evaluation at a time. Evaluations are synchronous, so they can share one meter. */
export class WorkMeter {
  #left = MAX_WORK;

  /** Begins an evaluation. */
  begin(): void {
    this.#left = MAX_WORK;
  }

  /** Whether the evaluation exceeded its work. If so, its result is meaningless. */
  get isExhausted(): boolean {
    return this.#left < 0;
  }

  /** Adds work. @throws Error if the evaluation has exceeded its work, which ends loops. */
  add(units: number): void {
    this.#left -= units;
    if (this.#left < 0) throw new Error("too much work");
  }
}
