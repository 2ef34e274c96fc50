import { yieldTurnAfter } from "../core/loop-turns.ts";
import type { EndpointResponse } from "./endpoint.ts";

/** Creates a response from JSON text, which may be large: it is encoded in a turn of the event loop after this one. */
export async function jsonTextResponse(text: string): Promise<EndpointResponse> {
  const turn = yieldTurnAfter(text.length);
  if (turn !== undefined) await turn;
  return { status: 200, headers: JSON_HEADERS, body: text };
}

/** Creates a response with a JSON body. @param body An object, or JSON text. */
export function jsonResponse(body: object | string): EndpointResponse {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { status: 200, headers: JSON_HEADERS, body: text };
}

const JSON_HEADERS = { "content-type": "application/json" };
