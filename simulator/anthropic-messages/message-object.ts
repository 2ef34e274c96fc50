import type { Message, StopDetails, StopReason, Usage } from "../../src/wire/anthropic-messages/response.ts";
import type { Turn } from "../script/turn.ts";
import { toMessageId } from "./ids.ts";
import type { SentBlock } from "./sent-block.ts";

/** The reason why an answer ended, in `message_delta` and in the whole message. */
export interface StopFacts {
  readonly stop_reason: StopReason;
  readonly stop_sequence: string | null;
  readonly stop_details: Partial<StopDetails> | null;
}

/** Token counts. `input_tokens` does not include tokens read from the cache or written to it. */
type SentUsage = Readonly<Partial<Usage>>;

/** A message in the form in which it is sent: the API leaves out fields that the SDK's types declare as null. */
type SentMessage = Readonly<Partial<Omit<Message, "content" | "usage" | keyof StopFacts>>> & {
  readonly [Field in keyof StopFacts]: StopFacts[Field] | null;
} & { readonly content: readonly SentBlock[]; readonly usage: SentUsage };

/** The changes that the API made to the input. Empty for requests without that beta. */
export type TransformedInput = Pick<Partial<Message>, "input_transformations">;

/** Creates the message before its content, for `message_start`. */
export function openMessage(requestNumber: number, model: string, turn: Turn): SentMessage {
  return {
    ...head(requestNumber, model),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage: { ...inputCounts(turn), ...cacheCreation(turn), output_tokens: 1, ...serviceFacts },
  };
}

/** Creates the whole message. */
export function finishedMessage(
  requestNumber: number,
  model: string,
  turn: Turn,
  content: readonly SentBlock[],
): SentMessage {
  return {
    ...head(requestNumber, model),
    content,
    ...getStopFacts(turn),
    usage: { ...finalUsage(turn), ...cacheCreation(turn), ...serviceFacts },
  };
}

/** Returns the reason why an answer ended. */
export function getStopFacts(turn: Turn): StopFacts {
  const refusal = turn.parts.find((part) => part.kind === "refusal");
  const stop_sequence = turn.stopSequence ?? null;
  if (refusal !== undefined) return refused("general_harms", refusal.text);
  if (turn.stop === "content_filter") return refused(null, null);
  return { stop_reason: getStopReason(turn), stop_sequence, stop_details: null };
}

/** Returns the counts of `message_delta`. */
export function finalUsage(turn: Turn): SentUsage {
  const searches = turn.parts.filter((part) => part.kind === "web_search").length;
  const { outputTokens, reasoningTokens } = turn.usage;
  return {
    ...inputCounts(turn),
    output_tokens: outputTokens,
    ...(reasoningTokens > 0 ? { output_tokens_details: { thinking_tokens: reasoningTokens } } : {}),
    ...(searches > 0 ? { server_tool_use: { web_search_requests: searches, web_fetch_requests: 0 } } : {}),
  };
}

const serviceFacts: SentUsage = { service_tier: "standard", inference_geo: "global" };

function head(requestNumber: number, model: string): Pick<Message, "model" | "id" | "type" | "role"> {
  return { model, id: toMessageId(requestNumber), type: "message", role: "assistant" };
}

function refused(category: StopDetails["category"], explanation: string | null): StopFacts {
  return {
    stop_reason: "refusal",
    stop_sequence: null,
    stop_details: { type: "refusal", category, explanation },
  };
}

function getStopReason(turn: Turn): StopReason {
  if (turn.stop === "length") return "max_tokens";
  if (turn.stopSequence !== undefined) return "stop_sequence";
  return turn.parts.some((part) => part.kind === "tool_call") ? "tool_use" : "end_turn";
}

function inputCounts({ usage }: Turn): SentUsage {
  const { inputTokens, cachedTokens, cacheWriteTokens } = usage;
  return {
    input_tokens: inputTokens - cachedTokens - cacheWriteTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
  };
}

function cacheCreation({ usage }: Turn): SentUsage {
  const { cacheWriteTokens, longCacheWriteTokens } = usage;
  return {
    cache_creation: {
      ephemeral_5m_input_tokens: cacheWriteTokens - longCacheWriteTokens,
      ephemeral_1h_input_tokens: longCacheWriteTokens,
    },
  };
}
