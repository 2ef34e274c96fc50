import { isObject, type JsonObject, type JsonValue, parseJson, without } from "../../kit/json/json.ts";

/** Largest conversation that is kept, in bytes of JSON. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** What a request that continues a response needs of it. */
interface Kept {
  readonly id: string;
  /** The whole conversation, as items. */
  readonly items: readonly JsonValue[];
  readonly tools: JsonValue | undefined;
}

/**
 * The latest response of a WebSocket where it was not stored. The next request of the same socket may continue it, as at
 * OpenAI: its items are then written out in the request.
 */
export class LatestResponse {
  #kept: Kept | undefined;

  /** The body of a request, with the conversation that it continues if that is here. */
  expand(body: JsonObject): JsonObject {
    const kept = this.#kept;
    if (kept === undefined || body.previous_response_id !== kept.id) return body;
    const tools = body.tools ?? kept.tools;
    return {
      ...without(body, "previous_response_id"),
      input: [...kept.items, ...itemsOf(body.input)],
      ...(tools === undefined ? {} : { tools }),
    };
  }

  /**
   * Takes the place of the response before.
   * @param body The request, expanded.
   * @param lastEvent The last event of the answer, as JSON text. Undefined where there was none.
   */
  replace(body: JsonObject, bodyBytes: number, lastEvent: string | undefined): void {
    this.#kept = undefined;
    if (body.store !== false || lastEvent === undefined) return;
    if (bodyBytes + lastEvent.length > MAX_KEPT_BYTES) return;
    const event = parseJson(lastEvent);
    const response = isObject(event) && event.type !== "response.failed" ? event.response : undefined;
    if (!isObject(response) || typeof response.id !== "string" || !Array.isArray(response.output)) return;
    this.#kept = {
      id: response.id,
      items: [...itemsOf(body.input), ...response.output],
      tools: body.tools,
    };
  }
}

/** The input of a request as items. */
function itemsOf(input: JsonValue | undefined): readonly JsonValue[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  return Array.isArray(input) ? input : [];
}
