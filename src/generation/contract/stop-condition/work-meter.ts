/**
 * Work that one evaluation may do: about 0.1 s. One unit is a call of a function or a turn of a loop; texts and lists
 * that a function reads are added by their length.
 */
const MAX_WORK = 100_000;

/** Counts the work of one evaluation at a time. Evaluations are synchronous, so that they can share it. */
export class WorkMeter {
  #left = MAX_WORK;

  /** An evaluation begins. */
  begin(): void {
    this.#left = MAX_WORK;
  }

  /** Whether the evaluation did more than it may. What it gave is of no use then. */
  get isExhausted(): boolean {
    return this.#left < 0;
  }

  /** Adds work. @throws Error where the evaluation has done more than it may; loops end by it. */
  add(units: number): void {
    this.#left -= units;
    if (this.#left < 0) throw new Error("too much work");
  }
}
