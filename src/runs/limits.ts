/** Limits on what runs use in a process. Each kind of work has its own limit, so that none can starve another. */
export interface RunLimits {
  /**
   * Runs in the foreground at once. Default 1000: as many streams as the sidecar is measured with; each has a caller who
   * waits for it.
   */
  readonly maxForegroundRuns: number;
  /** Runs in the background that are executed at once. Default 64: nobody waits for them, and the rest are queued. */
  readonly maxBackgroundRuns: number;
  /** Runs that wait in the queue, of all processes. Default 10000: hours of work, and some hundred megabytes of a store. */
  readonly maxQueuedRuns: number;
  /** Calls of tools that are executed at once. Others wait. Default 128: each holds a connection to a server. */
  readonly maxToolExecutions: number;
  /** Readers of stored events at once, besides the callers of runs in the foreground. Default 1000, as those. */
  readonly maxStreamReaders: number;
  /** Calls of the model in one run. Default 64. */
  readonly maxSteps: number;
  /**
   * How long a run waits for another run in progress of its thread, in milliseconds. Default 30 s: longer than most
   * answers, shorter than most callers wait.
   */
  readonly threadWaitMs: number;
  /**
   * After how long a process without a sign of life loses its runs, in milliseconds. Default 30 s: up to three signs may
   * be lost, and the runs of a crashed process go on within half a minute.
   */
  readonly leaseMs: number;
  /**
   * How long a foreground run waits for a caller that does not read, in milliseconds; then it goes on without that
   * caller. Default 30 s, as for requests whose bytes do not come.
   */
  readonly stallTimeoutMs: number;
  /** How long runs are kept after their end, in milliseconds. 0: for ever. Default 30 days, as OpenAI keeps responses. */
  readonly retentionMs: number;
}

/** The default limits. */
export const DEFAULT_RUN_LIMITS: RunLimits = {
  maxForegroundRuns: 1000,
  maxBackgroundRuns: 64,
  maxQueuedRuns: 10_000,
  maxToolExecutions: 128,
  maxStreamReaders: 1000,
  maxSteps: 64,
  threadWaitMs: 30_000,
  leaseMs: 30_000,
  stallTimeoutMs: 30_000,
  retentionMs: 30 * 24 * 3600 * 1000,
};
