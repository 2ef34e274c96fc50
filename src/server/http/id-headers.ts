import { randomUUID } from "node:crypto";

/** Header that carries the id of a request, both ways. */
export const REQUEST_ID_HEADER = "x-request-id";

/** Header that carries the id of a run to its caller. */
export const INFERENCE_ID_HEADER = "outrigger-inference-id";

// Visible, short, and nothing that a log viewer or a shell could take for its own.
const SANE_ID = /^[\w.:@/+=-]{1,128}$/;

/** The caller's id where it is sane: up to 128 letters, digits and `_.:@/+=-`. Else a new UUID. */
export function requestIdOf(header: string | readonly string[] | undefined): string {
  return typeof header === "string" && SANE_ID.test(header) ? header : randomUUID();
}
