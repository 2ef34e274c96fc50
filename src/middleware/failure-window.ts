/** Counts of calls and failures over the last seconds, in slots that are dropped one by one. */
export class FailureWindow {
  readonly #slotMs: number;
  readonly #slots: Slot[] = [];

  /** @param windowMs Length of the window in milliseconds. */
  constructor(windowMs: number) {
    this.#slotMs = windowMs / SLOTS;
  }

  /** Counts a call. @param now Milliseconds of a monotonic clock. */
  add(isFailure: boolean, now: number): void {
    this.#drop(now);
    const begin = Math.floor(now / this.#slotMs) * this.#slotMs;
    let slot = this.#slots.at(-1);
    if (slot === undefined || slot.begin < begin) {
      slot = { begin, calls: 0, failures: 0 };
      this.#slots.push(slot);
    }
    slot.calls += 1;
    if (isFailure) slot.failures += 1;
  }

  /** Returns the counts of the window that ends now. */
  countsAt(now: number): { readonly calls: number; readonly failures: number } {
    this.#drop(now);
    let [calls, failures] = [0, 0];
    for (const slot of this.#slots) {
      calls += slot.calls;
      failures += slot.failures;
    }
    return { calls, failures };
  }

  /** Forgets all calls. */
  clear(): void {
    this.#slots.length = 0;
  }

  #drop(now: number): void {
    const oldest = now - SLOTS * this.#slotMs;
    while (this.#slots[0] !== undefined && this.#slots[0].begin <= oldest) this.#slots.shift();
  }
}

interface Slot {
  readonly begin: number;
  calls: number;
  failures: number;
}

const SLOTS = 10;
