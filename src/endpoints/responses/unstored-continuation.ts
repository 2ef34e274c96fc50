/**
 * A response that is not stored and continues stored ones: the history is added to its input, and nothing is written to
 * the conversation.
 */

import { NotFoundError } from "../../core/errors.ts";
import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import { composeConversation } from "../../runs/conversation.ts";
import type { RunWithOrigin } from "../../runs/engine.ts";
import { isQueuedOrRunning } from "../../runs/status.ts";
import { Fields, invalidParameter } from "../openai/fields.ts";
import { toConversationId } from "../openai/ids.ts";
import { conversationNotFound } from "../openai/not-found.ts";
import { type HistorySource, readHistory } from "./read-history.ts";
import type { ReadInput } from "./read-input.ts";

/** The response or conversation that a request continues. */
export interface Continued {
  readonly previous: RunWithOrigin | undefined;
  /** The conversation, if the response is not stored. Otherwise the engine reads it. */
  readonly history: readonly Message[];
}

/** Reads the conversation that a response continues without being stored. */
export async function readUnstoredHistory(
  { engine, owner }: { readonly engine: HistorySource; readonly owner: string },
  threadId: string,
  previous: RunWithOrigin | undefined,
): Promise<readonly Message[]> {
  if (previous !== undefined && isQueuedOrRunning(previous.status))
    throw invalidParameter(
      "previous_response_id",
      "invalid_value",
      "is in progress, expected a response that has ended",
    );
  try {
    return await readHistory(engine, owner, previous, threadId);
  } catch (thrown) {
    if (thrown instanceof NotFoundError && threadId !== "")
      throw conversationNotFound(toConversationId(threadId));
    throw thrown;
  }
}

/** Returns the messages of a request after the messages that it continues, with their paths in its body. */
export function composeContinuation(
  history: readonly Message[],
  { messages, paths, approvals }: ReadInput,
): Pick<ReadInput, "messages" | "paths"> {
  const input = messages.flatMap(({ message }) => message ?? []);
  const placed = composeConversation({ history, input, approvals }).messages;
  const historyPath = { path: "previous_response_id", parts: [] };
  return {
    messages: placed.map(({ message }) => ({ message, originJson: "" })),
    paths: placed.map(({ inputIndex }) => paths[inputIndex ?? -1] ?? historyPath),
  };
}

/** Returns a request with the tools of the response that it continues. */
export function withTools(fields: Fields, tools: readonly JsonObject[]): Fields {
  const text = () => `${fields.text().trimEnd().slice(0, -1)},"tools":${JSON.stringify(tools)}}`;
  return new Fields({ ...fields.value, tools: [...tools] }, fields.path, text);
}
