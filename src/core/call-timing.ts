/** What a call can wait for that is not the work of this process. */
export type WaitedFor = "provider" | "queue";

/** The time that a call took, in milliseconds. The parts make up the total. */
export interface CallTimes {
  readonly total: number;
  /** The work of this process, and what the caller took to send its request. */
  readonly ours: number;
  /** From the request to a provider to the end of its answer. Requests at the same time count once. */
  readonly provider: number;
  /** Waits for a limit of the rate, for a free process, and before retries. */
  readonly queue: number;
}

/** Measures how long a call waits, and for what. */
export class CallTiming {
  readonly #provider = new Stopwatch();
  readonly #queue = new Stopwatch();
  readonly #startedAt: number;

  /** @param startedAt Arrival of the call, by `performance.now()`. */
  constructor(startedAt: number) {
    this.#startedAt = startedAt;
  }

  /** Begins a wait, which must be ended once. */
  begin(waitedFor: WaitedFor): void {
    this.#get(waitedFor).begin();
  }

  /** Ends a wait. */
  end(waitedFor: WaitedFor): void {
    this.#get(waitedFor).end();
  }

  /** Returns the times until now. */
  read(): CallTimes {
    const now = performance.now();
    const total = now - this.#startedAt;
    const provider = this.#provider.read(now);
    const queue = this.#queue.read(now);
    return { total, ours: Math.max(0, total - provider - queue), provider, queue };
  }

  #get(waitedFor: WaitedFor): Stopwatch {
    return waitedFor === "provider" ? this.#provider : this.#queue;
  }
}

/** Measures the time in which at least one of several waits is under way. */
class Stopwatch {
  #open = 0;
  #since = 0;
  #ms = 0;

  begin(): void {
    if (this.#open === 0) this.#since = performance.now();
    this.#open += 1;
  }

  end(): void {
    this.#open -= 1;
    if (this.#open === 0) this.#ms += performance.now() - this.#since;
  }

  read(now: number): number {
    return this.#open > 0 ? this.#ms + now - this.#since : this.#ms;
  }
}
