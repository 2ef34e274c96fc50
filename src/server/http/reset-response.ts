import type { HttpResponse } from "../base/http-types.ts";

/** Created once: a flood of resets should not cost a stack trace each. */
const RESET = new Error("the response was reset");

/**
 * Aborts an incomplete response: resets its stream with INTERNAL_ERROR, or closes the connection of HTTP/1.1. Without
 * an error, Node resets a stream with NO_ERROR, which some clients take for the end of a whole body.
 */
export function resetResponse(response: HttpResponse): void {
  if ("stream" in response) response.stream.destroy(RESET);
  else response.destroy();
}
