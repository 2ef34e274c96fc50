import type { EndpointResponse } from "./endpoint.ts";

/** Creates a response with a JSON body. @param body An object, or JSON text. */
export function jsonResponse(body: object | string): EndpointResponse {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { status: 200, headers: { "content-type": "application/json" }, body: Buffer.from(text) };
}
