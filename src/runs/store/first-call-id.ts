import type { ThreadMessage } from "../../gen/outrigger/v1/thread_pb.ts";

/** Longest id that is indexed: an entry of an index must fit into a page, also in PostgreSQL (2704 bytes). */
const MAX_ID_LENGTH = 512;

/** Id of the first tool call of a model's message, by which the message is found again. Undefined: it has none. */
export function firstCallId({ output, message }: ThreadMessage): string | undefined {
  if (!output) return undefined;
  const call = message?.content.find(({ part }) => part.case === "toolCall")?.part;
  return call?.case === "toolCall" && isIndexedId(call.value.id) ? call.value.id : undefined;
}

/** Whether messages are found by this id of a call. PostgreSQL has no texts with U+0000. */
export function isIndexedId(id: string): boolean {
  return id !== "" && id.length <= MAX_ID_LENGTH && !id.includes("\0");
}
