/** Why a model stopped (provider documentation: "FinishReason", "BlockReason"). */
import { type FinishReason, FinishReason_Reason as Reason } from "../../gen/outrigger/v1/response_pb.ts";
import { finishReason } from "../../kit/call/call-facts.ts";

/**
 * Returns the reason of a candidate that ended. The API has no finish reason for tool calls: an answer with calls that
 * ended with STOP waits for their results.
 */
export function toFinishReason(raw: string, hasToolCalls: boolean): FinishReason {
  if (raw === "STOP" && hasToolCalls) return finishReason(Reason.TOOL_CALLS, raw);
  return finishReason(REASONS.get(raw) ?? Reason.OTHER, raw);
}

/** Returns the reason of an answer without candidates, whose prompt was blocked. */
export function toBlockedReason(raw: string): FinishReason {
  return finishReason(Reason.CONTENT_FILTER, raw);
}

const REASONS: ReadonlyMap<string, Reason> = new Map([
  ["STOP", Reason.STOP],
  ["MAX_TOKENS", Reason.LENGTH],
  // A long answer stops so that the caller can ask for its continuation.
  ["CONTINUATION", Reason.LENGTH],
  ["SAFETY", Reason.CONTENT_FILTER],
  ["RECITATION", Reason.CONTENT_FILTER],
  ["BLOCKLIST", Reason.CONTENT_FILTER],
  ["PROHIBITED_CONTENT", Reason.CONTENT_FILTER],
  ["SPII", Reason.CONTENT_FILTER],
  ["MODEL_ARMOR", Reason.CONTENT_FILTER],
  ["ESCALATION", Reason.CONTENT_FILTER],
  // The account is limited, since its prompts broke the provider's policy.
  ["PUP_LIMITED_DISABLED", Reason.CONTENT_FILTER],
  ["IMAGE_SAFETY", Reason.CONTENT_FILTER],
  ["IMAGE_PROHIBITED_CONTENT", Reason.CONTENT_FILTER],
  ["IMAGE_RECITATION", Reason.CONTENT_FILTER],
  ["MALFORMED_FUNCTION_CALL", Reason.ERROR],
  ["UNEXPECTED_TOOL_CALL", Reason.ERROR],
  ["TOO_MANY_TOOL_CALLS", Reason.ERROR],
  ["MALFORMED_RESPONSE", Reason.ERROR],
  ["MISSING_THOUGHT_SIGNATURE", Reason.ERROR],
]);
