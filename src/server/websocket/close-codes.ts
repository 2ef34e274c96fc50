/** Statuses with which WebSockets are closed (RFC 6455 §7.4.1 and the registry of IANA). */
export const closeCodes = {
  /** The server stops, or the connection is too old or was idle for too long. */
  goingAway: 1001,
  /** A message is not text. */
  unsupportedData: 1003,
  /** The caller sends more than the server accepts, or too slowly. */
  policyViolation: 1008,
  /** The server failed. */
  internalError: 1011,
  /** The drain timeout expired while a message was being answered. */
  serviceRestart: 1012,
  /** A limit on memory or calls is reached at the moment. */
  tryAgainLater: 1013,
} as const;
