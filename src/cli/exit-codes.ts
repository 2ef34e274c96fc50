/** The exit codes of `outrigger`, which `outrigger --help` documents. */
export const exitCodes = {
  /** Success, or stopped by a signal after calls in progress had ended. */
  ok: 0,
  /** An unexpected failure. */
  failure: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The configuration is wrong, or no provider is configured. */
  configuration: 3,
  /** An address cannot be listened on. */
  address: 4,
} as const;
