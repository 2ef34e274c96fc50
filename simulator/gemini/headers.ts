import { now } from "../request-log.ts";
import type { ReceivedRequest, WholeAnswer } from "../wire-format.ts";

/** The type of JSON answers. */
export const jsonType = "application/json; charset=UTF-8";

/** Creates an answer of status 200. */
export function jsonAnswer(request: ReceivedRequest, body: object): WholeAnswer {
  return {
    status: 200,
    headers: geminiHeaders(request, jsonType),
    body: `${JSON.stringify(body, undefined, 2)}\n`,
  };
}

/** Returns the headers of Google's answers, which have no rate limits. The id of an answer is in its body. */
export function geminiHeaders(request: ReceivedRequest, contentType: string): Record<string, string> {
  const elapsed = Math.max(1, Math.round(now() - request.receivedAt));
  return {
    "content-type": contentType,
    vary: "Origin, X-Origin, Referer",
    server: "scaffolding on HTTPServer2",
    "server-timing": `gfet4t7; dur=${elapsed}`,
  };
}
