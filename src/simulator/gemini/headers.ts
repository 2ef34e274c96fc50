import { now } from "../request-log.ts";
import type { ReceivedRequest } from "../wire-format.ts";

/** The headers of Google's answers, which have no rate limits. The id of an answer is in its body. */
export function geminiHeaders(request: ReceivedRequest, contentType: string): Record<string, string> {
  const elapsed = Math.max(1, Math.round(now() - request.receivedAt));
  return {
    "content-type": contentType,
    vary: "Origin, X-Origin, Referer",
    server: "scaffolding on HTTPServer2",
    "server-timing": `gfet4t7; dur=${elapsed}`,
  };
}
