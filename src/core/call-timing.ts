/** Reasons why a call waits, other than work of this process. */
export type WaitedFor = "provider" | "queue";

/** The time that a call took, in milliseconds. The parts make up the total. */
export interface CallTimes {
  readonly total: number;
  /** The work of this process, and the time the caller took to send its request. */
  readonly ours: number;
  /** From the request to a provider to the end of its answer. Requests at the same time count once. */
  readonly provider: number;
  /** Waits for a rate limit, for a free process, and before retries. */
  readonly queue: number;
}

/** Measures how long a call waits, and for what. */
export interface CallTiming {
  /** Begins a wait, which must be ended once. */
  beginWait(waitedFor: WaitedFor): void;
  /** Ends a wait. */
  endWait(waitedFor: WaitedFor): void;
}
