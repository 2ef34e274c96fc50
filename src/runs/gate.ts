import { abortErrorOf } from "../kit/http/abort.ts";
import { RunLimitError } from "./errors.ts";

/** A limit on concurrent work of one kind. */
export class Gate {
  readonly #limit: string;
  readonly #max: number;
  readonly #what: string;
  #used = 0;
  /** Waiters, in order of arrival. */
  readonly #waiting = new Set<() => void>();

  /**
   * @param limit Name of the limit in the configuration.
   * @param what What is limited, for errors: `runs in the foreground`.
   */
  constructor(limit: string, max: number, what: string) {
    this.#limit = limit;
    this.#max = max;
    this.#what = what;
  }

  /** Number of free places. */
  get free(): number {
    return this.#max - this.#used;
  }

  /** Takes a place, which `leave` gives back. @throws RunLimitError where there is none. */
  enter(): void {
    if (this.#used >= this.#max) throw new RunLimitError(this.#limit, this.#max, this.#what);
    this.#used += 1;
  }

  /** Waits for a place. @throws SDKError of the signal's reason where it is aborted first. */
  async wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw abortErrorOf(signal);
    if (this.#used < this.#max) {
      this.#used += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => {
      this.#waiting.delete(resolve);
      reject(abortErrorOf(signal));
    };
    this.#waiting.add(resolve);
    signal.addEventListener("abort", abort, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Gives a place back: to the first that waits. */
  leave(): void {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#used -= 1;
      return;
    }
    this.#waiting.delete(first);
    first();
  }
}
