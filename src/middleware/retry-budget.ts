import { checkOption } from "./check-option.ts";

/** Limits on the retries of all calls to a provider together. */
export interface RetryBudgetOptions {
  /**
   * Retries for each call, over time. Default 0.1: a failing provider gets a tenth more calls instead of a multiple.
   */
  readonly ratio?: number | undefined;
  /** Retries that are allowed each second, however few calls there are. Default 1. */
  readonly minPerSecond?: number | undefined;
}

/** Seconds for which `minPerSecond` accumulates: a quiet sidecar may retry all calls of a short failure. */
const SAVED_SECONDS = 10;

/** Maximum number of retries that accumulate. */
const MAX_SAVED = 100;

/** A bucket of retries, which calls fill and retries empty. */
export class RetryBudget {
  readonly #ratio: number;
  readonly #minPerSecond: number;
  readonly #now: () => number;
  #saved: number;
  #filledAt: number;

  /** @param now Milliseconds of a monotonic clock. */
  constructor({ ratio = 0.1, minPerSecond = 1 }: RetryBudgetOptions = {}, now = () => performance.now()) {
    this.#ratio = checked("ratio", ratio);
    this.#minPerSecond = checked("minPerSecond", minPerSecond);
    this.#now = now;
    this.#saved = this.#floor;
    this.#filledAt = now();
  }

  /** Adds the share of a call that begins. */
  deposit(): void {
    this.#saved = Math.max(this.#saved, Math.min(this.#saved + this.#ratio, MAX_SAVED));
  }

  /** Takes a retry. False if none is left. */
  withdraw(): boolean {
    this.#fill();
    if (this.#saved < 1) return false;
    this.#saved -= 1;
    return true;
  }

  get #floor(): number {
    return this.#minPerSecond * SAVED_SECONDS;
  }

  /** Adds the retries that the elapsed time allows, up to the floor. */
  #fill(): void {
    const now = this.#now();
    const gained = ((now - this.#filledAt) / 1000) * this.#minPerSecond;
    this.#filledAt = now;
    if (this.#saved < this.#floor) this.#saved = Math.min(this.#saved + gained, this.#floor);
  }
}

function checked(name: string, value: number): number {
  checkOption(`the retry budget's ${name}`, value, value >= 0 && value < Infinity, "0 or more");
  return value;
}
