/**
 * The lanes of a WebSocket. A lane is named by the `stream_id` of its requests and keeps its latest response for a
 * request of any lane that continues it (OpenAI's guide "WebSocket mode").
 */
import type { JsonObject } from "../../kit/json/json.ts";
import type { ResponseCache } from "../answers/response-cache.ts";
import { type Fields, invalidParameter, quote } from "../openai/fields.ts";
import { LatestResponse, MAX_CONVERSATION_BYTES } from "./latest-response.ts";

/** Maximum number of names that the requests of one socket may use. */
const MAX_LANES = 32;

const STREAM_ID = /^[A-Za-z0-9_.-]{1,256}$/;

/** The lanes of one socket. */
export class SocketLanes {
  /** By their names, the most recently used one last. The lane of requests without a name has the key undefined. */
  readonly #lanes = new Map<string | undefined, LatestResponse>();
  readonly #cache: ResponseCache;
  readonly #owner: string;

  /** @param owner Name of the caller's access key. */
  constructor(cache: ResponseCache, owner: string) {
    this.#cache = cache;
    this.#owner = owner;
  }

  /** Reads the name of a request's lane. @throws InvalidRequestError if it is invalid, or there are too many lanes. */
  readName(message: Fields): string | undefined {
    const name = message.get("stream_id");
    if (name === undefined) return undefined;
    if (typeof name !== "string" || !STREAM_ID.test(name)) {
      const found = typeof name === "string" ? quote(name) : "another type";
      throw invalidName(`expected 1 to 256 letters, digits, "_", "-" or ".", found ${found}`);
    }
    if (!this.#lanes.has(name) && this.#lanes.size >= MAX_LANES)
      throw invalidName(
        `expected one of the ${MAX_LANES} names that the connection has used, found ${quote(name)}`,
      );
    return name;
  }

  /** Returns the latest response of a lane, which is created if there is none. */
  open(name: string | undefined): LatestResponse {
    const lane = this.#lanes.get(name) ?? new LatestResponse(this.#cache, this.#owner);
    this.#lanes.delete(name);
    this.#lanes.set(name, lane);
    return lane;
  }

  /**
   * Returns the body of a request, with the conversation that it continues if a lane keeps it.
   * @param reserve Takes memory for the conversation, before it is inserted. Throws SDKError.
   */
  expand(body: JsonObject, reserve: (bytes: number) => void): JsonObject {
    return this.#find(body.previous_response_id)?.expand(body, reserve) ?? body;
  }

  /** Reports whether a lane keeps a response. */
  has(responseId: unknown): boolean {
    return this.#find(responseId) !== undefined;
  }

  /** Drops a response that a request failed to continue. */
  forget(responseId: unknown): void {
    this.#find(responseId)?.forget();
  }

  /** Drops all responses when the socket is closed. */
  forgetAll(): void {
    for (const lane of this.#lanes.values()) lane.forget();
  }

  /** Drops the responses of the least recently used lanes if all together are too large. */
  limit(): void {
    const lanes = [...this.#lanes.values()];
    let bytes = lanes.reduce((sum, lane) => sum + lane.bytes, 0);
    for (const lane of lanes) {
      if (bytes <= MAX_CONVERSATION_BYTES) return;
      bytes -= lane.bytes;
      lane.forget();
    }
  }

  #find(responseId: unknown): LatestResponse | undefined {
    if (typeof responseId !== "string") return undefined;
    return [...this.#lanes.values()].find(({ id }) => id === responseId);
  }
}

function invalidName(description: string): Error {
  return invalidParameter("stream_id", "invalid_stream_id", description);
}
