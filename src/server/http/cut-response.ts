import type { HttpResponse } from "../base/http-types.ts";

/** Created once: a flood of cut responses should not cost a stack trace each. */
const CUT = new Error("the response was cut off");

/**
 * Ends a response before its end: resets its stream with INTERNAL_ERROR, or closes the connection of HTTP/1.1. Without
 * an error, Node resets a stream with NO_ERROR, which some clients take for the end of a whole body.
 */
export function cutResponse(response: HttpResponse): void {
  if ("stream" in response) response.stream.destroy(CUT);
  else response.destroy();
}
