import type { ThreadMessage } from "../../gen/outrigger/v1/thread_pb.ts";

/** Id of the first tool call of a model's message, by which the message is found again. Undefined: it has none. */
export function firstCallId({ isOutput, message }: ThreadMessage): string | undefined {
  if (!isOutput) return undefined;
  const call = message?.content.find(({ part }) => part.case === "toolCall")?.part;
  return call?.case === "toolCall" && call.value.id !== "" ? call.value.id : undefined;
}
