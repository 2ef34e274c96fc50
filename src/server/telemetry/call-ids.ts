/** The headers that tell a client about its call: by which ids it is found again, and how long it took. */
import { randomUUID } from "node:crypto";
import type { CallTimes } from "../../core/call-timing.ts";

/** Header with the id of a request, in requests and responses. */
export const REQUEST_ID_HEADER = "x-request-id";

/** Response header with the id of a provider call. */
export const INFERENCE_ID_HEADER = "outrigger-inference-id";

/** Response header and trailer with the times of a call. */
export const TIMING_HEADER = "outrigger-timing";

/** Returns the times of a call in the form of Server-Timing (W3C), in milliseconds with one decimal. */
export function formatTimes({ ours, provider, queue, total }: CallTimes): string {
  return `ours;dur=${roundedMs(ours)}, provider;dur=${roundedMs(provider)}, queue;dur=${roundedMs(queue)}, total;dur=${roundedMs(total)}`;
}

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
