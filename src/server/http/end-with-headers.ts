import type { HttpResponse } from "../listen/http-types.ts";

/** Ends a response of status 200 with its headers. On HTTP/2 that is a single HEADERS frame with END_STREAM. */
export function endWithHeaders(response: HttpResponse, headers: Readonly<Record<string, string>>): void {
  // Not writeHead: it sends the headers before the end is known, and an empty DATA frame would follow.
  response.statusCode = 200;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end();
}
