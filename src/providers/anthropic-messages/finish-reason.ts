import { type FinishReason, FinishReason_Reason as Reason } from "../../gen/outrigger/v1/response_pb.ts";
import { finishReason, readFinishReason } from "../../kit/call/call-facts.ts";
import { textIn } from "../../kit/json/json.ts";
import type { Message, StopReason } from "../../wire/anthropic-messages/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/**
 * Returns why the model stopped (provider documentation: "Stop reasons", and `stop_sequence` of "Message"). Compatible
 * servers report an ordinary end for tool calls as well.
 * @param endsWithCall Whether the last block is a tool call of the caller.
 */
export function toFinishReason(
  { stop_reason: word, stop_sequence: sequence }: Untrusted<Message>,
  endsWithCall: boolean,
): FinishReason {
  const raw = readFinishReason(word);
  const reason = REASONS.get(raw) ?? Reason.OTHER;
  return finishReason(raw === "end_turn" && endsWithCall ? Reason.TOOL_CALLS : reason, raw, textIn(sequence));
}

const REASON_OF: { readonly [Word in StopReason]: Reason } = {
  end_turn: Reason.STOP,
  stop_sequence: Reason.STOP,
  max_tokens: Reason.LENGTH,
  model_context_window_exceeded: Reason.LENGTH,
  tool_use: Reason.TOOL_CALLS,
  refusal: Reason.CONTENT_FILTER,
  // The turn is not over: the same conversation is sent again, with the answer so far.
  pause_turn: Reason.OTHER,
  compaction: Reason.OTHER,
};

const REASONS: ReadonlyMap<string, Reason> = new Map(Object.entries(REASON_OF));
