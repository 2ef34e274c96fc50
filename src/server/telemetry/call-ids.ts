/** The headers with the facts of a call: the ids by which it can be found in logs, and its times. */
import { randomUUID } from "node:crypto";

/** Header with the id of a request, in requests and responses. */
export const REQUEST_ID_HEADER = "x-request-id";

/** Response header with the id of a provider call. */
export const INFERENCE_ID_HEADER = "outrigger-inference-id";

/** Response header and trailer with the times of a call. */
export const TIMING_HEADER = "outrigger-timing";

/** Rounds milliseconds to one decimal. */
export function roundedMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}

// Visible and short, without characters that have a meaning in log viewers or shells.
const VALID_ID = /^[\w.:@/+=-]{1,128}$/;

/** Returns the client's id if it is valid: up to 128 letters, digits and `_.:@/+=-`. Otherwise returns a new UUID. */
export function getRequestId(header: string | readonly string[] | undefined): string {
  return typeof header === "string" && VALID_ID.test(header) ? header : randomUUID();
}
