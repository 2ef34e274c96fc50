import type { CheckedItem } from "./checked-request.ts";

/** Most responses and most bytes of their items that are kept; the oldest are removed. */
const limits = { responses: 500, bytes: 32 * 1024 * 1024 };

/** A stored response: the conversation up to and including it. */
interface StoredResponse {
  readonly items: readonly CheckedItem[];
  readonly bytes: number;
}

/** Responses that requests with `previous_response_id` continue, and whose items they refer to. */
export interface StoredResponses {
  /** Keeps a response: the items of its request and of its answer. */
  keep(responseId: string, items: readonly CheckedItem[]): void;
  /** Returns the conversation up to and including a response. */
  find(responseId: string): readonly CheckedItem[] | undefined;
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
    keep: (responseId, items) => {
      const size = JSON.stringify(items).length;
      if (size > limits.bytes) return;
      stored.set(responseId, { items, bytes: size });
      bytes += size;
      for (const oldest of stored.keys()) {
        if (stored.size <= limits.responses && bytes <= limits.bytes) break;
        remove(oldest);
      }
    },
    find: (responseId) => stored.get(responseId)?.items,
  };
}
