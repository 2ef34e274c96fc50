/** The headers by which a call is found again. */
import { randomUUID } from "node:crypto";

/** Header with the id of a request, in requests and responses. */
export const REQUEST_ID_HEADER = "x-request-id";

/** Response header with the id of a provider call. */
export const INFERENCE_ID_HEADER = "outrigger-inference-id";

// Visible and short, without characters that have a meaning in log viewers or shells.
const VALID_ID = /^[\w.:@/+=-]{1,128}$/;

/** Returns the client's id if it is valid: up to 128 letters, digits and `_.:@/+=-`. Otherwise returns a new UUID. */
export function getRequestId(header: string | readonly string[] | undefined): string {
  return typeof header === "string" && VALID_ID.test(header) ? header : randomUUID();
}
