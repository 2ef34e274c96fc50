import { isObject, type JsonObject, type JsonValue, parseJson, without } from "../../kit/json/json.ts";

/** Largest conversation that is kept, in bytes of JSON; that of all lanes of a socket together as well. */
export const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** What is kept of a response for a request that continues it. */
interface Kept {
  readonly id: string;
  readonly bytes: number;
  /** The whole conversation, as items. */
  readonly items: readonly JsonValue[];
  readonly tools: JsonValue | undefined;
  /** Id of the stored response before these items. */
  readonly previous: JsonValue | undefined;
}

/**
 * The latest response of a lane of a WebSocket, if it was not stored. As in OpenAI's API, the next request of the same socket may
 * continue it: its items are then inserted into the request.
 */
export class LatestResponse {
  #kept: Kept | undefined;

  /** Id of the response. Undefined: none is kept. */
  get id(): string | undefined {
    return this.#kept?.id;
  }

  /** Size of what is kept, in bytes of JSON. */
  get bytes(): number {
    return this.#kept?.bytes ?? 0;
  }

  /** Drops the response. */
  forget(): void {
    this.#kept = undefined;
  }

  /** The body of a request, with the conversation that it continues if it is kept here. */
  expand(body: JsonObject): JsonObject {
    const kept = this.#kept;
    if (kept === undefined || body.previous_response_id !== kept.id) return body;
    const tools = body.tools ?? kept.tools;
    return {
      ...without(body, "previous_response_id"),
      ...(kept.previous === undefined ? {} : { previous_response_id: kept.previous }),
      input: [...kept.items, ...itemsOf(body.input)],
      ...(tools === undefined ? {} : { tools }),
    };
  }

  /**
   * Replaces the previous response.
   * @param body The request, expanded.
   * @param lastEvent The last event of the answer, as JSON text. Undefined where there was none.
   */
  replace(body: JsonObject, bodyBytes: number, lastEvent: string | undefined): void {
    this.#kept = undefined;
    if (lastEvent === undefined || bodyBytes + lastEvent.length > MAX_KEPT_BYTES) return;
    const event = parseJson(lastEvent);
    const response = isObject(event) && event.type !== "response.failed" ? event.response : undefined;
    if (!isObject(response) || typeof response.id !== "string" || !Array.isArray(response.output)) return;
    this.#kept = {
      id: response.id,
      bytes: bodyBytes + lastEvent.length,
      items: [...itemsOf(body.input), ...response.output],
      tools: body.tools,
      previous: body.previous_response_id,
    };
  }
}

/** The input of a request as items. */
function itemsOf(input: JsonValue | undefined): readonly JsonValue[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  return Array.isArray(input) ? input : [];
}
