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

/** The time in which at least one of several waits for the same thing was under way. */
interface Wait {
  /** Waits under way. */
  open: number;
  /** When the first one began. */
  since: number;
  /** Milliseconds until then. */
  ms: number;
}

/** Measures how long a call waits, and for what. */
export class CallTiming {
  readonly #startedAt: number;
  readonly #waits: Readonly<Record<WaitedFor, Wait>> = {
    provider: { open: 0, since: 0, ms: 0 },
    queue: { open: 0, since: 0, ms: 0 },
  };

  /** @param startedAt Arrival of the call, by `performance.now()`. */
  constructor(startedAt: number) {
    this.#startedAt = startedAt;
  }

  /** Begins a wait, which must be ended once. */
  begin(waitedFor: WaitedFor): void {
    const wait = this.#waits[waitedFor];
    if (wait.open === 0) wait.since = performance.now();
    wait.open += 1;
  }

  /** Ends a wait. */
  end(waitedFor: WaitedFor): void {
    const wait = this.#waits[waitedFor];
    wait.open -= 1;
    if (wait.open === 0) wait.ms += performance.now() - wait.since;
  }

  /** Returns the times until now. */
  read(): CallTimes {
    const now = performance.now();
    const total = now - this.#startedAt;
    const { provider: upstream, queue: line } = this.#waits;
    const provider = upstream.ms + (upstream.open > 0 ? now - upstream.since : 0);
    const queue = line.ms + (line.open > 0 ? now - line.since : 0);
    return { total, ours: Math.max(0, total - provider - queue), provider, queue };
  }
}
