import { setImmediate } from "node:timers/promises";

/** Time in milliseconds that a loop may take before other work has its turn. */
const SHARE_MS = 10;

/**
 * The share of the event loop that a long loop may take. A store in this process answers at once, so that awaiting its
 * pages alone would never let timers and sockets run.
 */
export class LoopShare {
  #since = performance.now();

  /** Lets other work run if the share is used up. */
  async yield(): Promise<void> {
    if (performance.now() - this.#since < SHARE_MS) return;
    await setImmediate();
    this.#since = performance.now();
  }
}
