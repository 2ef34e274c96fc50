/** What the exit code of `outrigger` tells. Documented in `outrigger --help`. */
export const exitCodes = {
  /** Done, or stopped by a signal after everything in flight had ended. */
  ok: 0,
  /** Something failed that should not. */
  failure: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The configuration is wrong, or no provider is configured. */
  configuration: 3,
  /** An address cannot be listened on. */
  address: 4,
} as const;
