import { isObject, type JsonObject, type JsonValue, parseJson, without } from "../../kit/json/json.ts";
import type { CachedResponse, ResponseCache } from "../answers/response-cache.ts";

/** Largest stored conversation, in bytes of JSON. The same limit applies to all lanes of a socket together. */
export const MAX_CONVERSATION_BYTES = 16 * 1024 * 1024;

/**
 * The latest response of a lane of a WebSocket, if it was not stored. As in OpenAI's API, the next request of the same
 * socket may continue it: its items are then inserted into the request.
 */
export class LatestResponse implements CachedResponse {
  /** Name of the caller's access key. */
  readonly owner: string;
  readonly #cache: ResponseCache;
  #id: string | undefined;
  /**
   * The whole conversation with its tools and the id of the stored response before it, as JSON, so that its size is
   * exactly the counted bytes.
   */
  #conversation: Buffer | undefined;

  constructor(cache: ResponseCache, owner: string) {
    this.#cache = cache;
    this.owner = owner;
  }

  /** Id of the cached response. Undefined if there is none. */
  get id(): string | undefined {
    return this.#id;
  }

  /** Size of the cached data, in bytes of JSON. */
  get bytes(): number {
    return this.#conversation?.byteLength ?? 0;
  }

  /**
   * Returns the body of a request, with the conversation that it continues if it is kept here.
   * @param reserve Takes memory for the conversation, before it is inserted. Throws SDKError.
   */
  expand(body: JsonObject, reserve: (bytes: number) => void): JsonObject {
    const conversation = this.#conversation;
    if (conversation === undefined || body.previous_response_id !== this.#id) return body;
    reserve(conversation.byteLength);
    const kept = parseJson(conversation.toString());
    if (!isObject(kept)) return body;
    const tools = body.tools ?? kept.tools;
    return {
      ...without(body, "previous_response_id"),
      ...(kept.previous === undefined ? {} : { previous_response_id: kept.previous }),
      input: [...toItems(kept.items), ...toItems(body.input)],
      ...(tools === undefined ? {} : { tools }),
    };
  }

  /**
   * Replaces the previous response.
   * @param body The request, expanded.
   * @param lastEvent The last event of the answer, as JSON text. Undefined if there was none.
   */
  replace(body: JsonObject, bodyBytes: number, lastEvent: string | undefined): void {
    this.forget();
    if (lastEvent === undefined || bodyBytes + lastEvent.length > MAX_CONVERSATION_BYTES) return;
    const event = parseJson(lastEvent);
    const response = isObject(event) && event.type !== "response.failed" ? event.response : undefined;
    if (!isObject(response) || typeof response.id !== "string" || !Array.isArray(response.output)) return;
    const kept = {
      items: [...toItems(body.input), ...response.output],
      tools: body.tools,
      previous: body.previous_response_id,
    };
    const conversation = Buffer.from(JSON.stringify(kept));
    if (!this.#cache.add(this, conversation.byteLength)) return;
    this.#id = response.id;
    this.#conversation = conversation;
  }

  /** Removes the response: it was evicted, a request failed to continue it, or the socket was closed. */
  forget(): void {
    this.#id = undefined;
    this.#conversation = undefined;
    this.#cache.delete(this);
  }
}

/** Returns the input of a request as items. */
function toItems(input: JsonValue | undefined): readonly JsonValue[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  return Array.isArray(input) ? input : [];
}
