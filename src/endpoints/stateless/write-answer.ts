/** The parts of an answer that several APIs write in the same way. */
import { ServerError } from "../../core/errors.ts";
import type { ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { FinishReason_Reason, type Response } from "../../gen/outrigger/v1/response_pb.ts";
import { asObject, type JsonObject, tryParseJson } from "../../kit/json/json.ts";
import { isUnfinished } from "../../runs/status.ts";

/** The words of an API for why an answer ended. */
export interface FinishWords {
  readonly length: string;
  readonly toolCalls: string;
  readonly contentFilter: string;
  /** For an answer that is not finished, for whatever reason: it must not look finished. */
  readonly unfinished: string;
  readonly stop: string;
}

/** The fields that describe the end of an answer. */
export type AnswerEnd = Pick<Response, "finishReason" | "message" | "provider" | "usage">;

/**
 * Returns why an answer ended.
 * @throws ServerError if the provider ended the answer with an error.
 */
export function getFinishWord(end: AnswerEnd, words: FinishWords): string {
  const { finishReason, provider, usage } = end;
  switch (finishReason?.reason) {
    case FinishReason_Reason.ERROR: {
      const message = `the provider ended the answer with the finish reason ${JSON.stringify(finishReason.raw)}`;
      throw new ServerError(message, { provider, outputStarted: true, usage });
    }
    case FinishReason_Reason.LENGTH:
      return words.length;
    case FinishReason_Reason.TOOL_CALLS:
      return getCallWord(end, words);
    case FinishReason_Reason.CONTENT_FILTER:
      return words.contentFilter;
    case FinishReason_Reason.OTHER:
      return isUnfinished(finishReason) ? words.unfinished : words.stop;
    default:
      return words.stop;
  }
}

/**
 * Returns the word for an answer that waits for the caller. Without a call that the API can hold, its clients would
 * wait for one: compatible servers report calls that they did not send, and OpenAI waits for approvals and screenshots.
 */
function getCallWord({ message }: AnswerEnd, words: FinishWords): string {
  const kinds = new Set(message?.content.map(({ part }) => part.case));
  if (kinds.has("toolCall")) return words.toolCalls;
  return kinds.has("native") ? words.unfinished : words.stop;
}

/**
 * Returns the input of a call, for APIs in which inputs are objects. Other inputs are wrapped, not dropped: clients
 * execute tools with whatever they get.
 */
export function toInputObject({ case: kind, value = "" }: ToolCall["input"]): JsonObject {
  if (kind === "text") return { input: value };
  return asObject(tryParseJson(value)) ?? (value === "" ? {} : { invalid_arguments: value });
}
