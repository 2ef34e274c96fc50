/** Statuses with which WebSockets are closed (RFC 6455 §7.4.1 and the registry of IANA). */
export const closeCodes = {
  /** The server stops, or the connection is too old or too long idle. */
  goingAway: 1001,
  /** A message is not text. */
  unsupportedData: 1003,
  /** The caller sends more than the server takes, or too slowly. */
  policyViolation: 1008,
  /** The server failed. */
  internalError: 1011,
  /** The server did not wait any longer for what was under way. */
  serviceRestart: 1012,
  /** There is no memory for a message at this moment. */
  tryAgainLater: 1013,
} as const;
