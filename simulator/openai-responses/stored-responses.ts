import type { CheckedItem } from "./checked-request.ts";
import type { SimulatedResponse } from "./response-object.ts";

/** Maximum number of stored responses, and maximum bytes of the responses and their items; the oldest are removed. */
const limits = { responses: 500, bytes: 32 * 1024 * 1024 };

/** A stored response: the conversation up to and including it. */
interface StoredResponse {
  readonly response: SimulatedResponse;
  /** The items of the conversation, ending with the items of the response. */
  readonly items: readonly CheckedItem[];
  readonly bytes: number;
}

/** Responses that requests with `previous_response_id` continue, and whose items they refer to. */
export interface StoredResponses {
  /** Stores a response, and the items of the conversation before it. */
  keep(response: SimulatedResponse, before: readonly CheckedItem[]): void;
  /** Returns a response. */
  get(responseId: string): SimulatedResponse | undefined;
  /** Returns the conversation up to and including a response. */
  find(responseId: string): readonly CheckedItem[] | undefined;
  /** Removes a response. */
  delete(responseId: string): void;
}

/** Creates an empty store. */
export function createStoredResponses(): StoredResponses {
  const stored = new Map<string, StoredResponse>();
  let bytes = 0;
  const remove = (responseId: string): void => {
    bytes -= stored.get(responseId)?.bytes ?? 0;
    stored.delete(responseId);
  };
  return {
    keep: (response, before) => {
      const items = [...before, ...(response.output ?? [])];
      const size = JSON.stringify([response, items]).length;
      if (size > limits.bytes) return;
      stored.set(response.id, { response, items, bytes: size });
      bytes += size;
      for (const oldest of stored.keys()) {
        if (stored.size <= limits.responses && bytes <= limits.bytes) break;
        remove(oldest);
      }
    },
    get: (responseId) => stored.get(responseId)?.response,
    find: (responseId) => stored.get(responseId)?.items,
    delete: remove,
  };
}
