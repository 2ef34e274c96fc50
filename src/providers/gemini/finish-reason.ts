/** Why a model stopped (provider documentation: "FinishReason", "BlockReason"). */
import { create } from "@bufbuild/protobuf";
import {
  type FinishReason,
  FinishReasonSchema,
  FinishReason_Reason as Reason,
} from "../../gen/outrigger/v1/response_pb.ts";

/**
 * The reason of a candidate that ended. The API has no word for tool calls: a turn with calls
 * that stopped by itself waits for their results.
 */
export function finishReasonOf(raw: string, hasToolCalls: boolean): FinishReason {
  if (raw === "STOP" && hasToolCalls) return finish(Reason.TOOL_CALLS, raw);
  return finish(REASONS.get(raw) ?? Reason.OTHER, raw);
}

/** The reason of an answer without candidates, since the prompt itself was blocked. */
export function blockedReasonOf(raw: string): FinishReason {
  return finish(Reason.CONTENT_FILTER, raw);
}

function finish(reason: Reason, raw: string): FinishReason {
  return create(FinishReasonSchema, { reason, raw });
}

const REASONS: ReadonlyMap<string, Reason> = new Map([
  ["STOP", Reason.STOP],
  ["MAX_TOKENS", Reason.LENGTH],
  // A long answer stops for the caller to ask for its next stretch.
  ["CONTINUATION", Reason.LENGTH],
  ["SAFETY", Reason.CONTENT_FILTER],
  ["RECITATION", Reason.CONTENT_FILTER],
  ["BLOCKLIST", Reason.CONTENT_FILTER],
  ["PROHIBITED_CONTENT", Reason.CONTENT_FILTER],
  ["SPII", Reason.CONTENT_FILTER],
  ["IMAGE_SAFETY", Reason.CONTENT_FILTER],
  ["IMAGE_PROHIBITED_CONTENT", Reason.CONTENT_FILTER],
  ["IMAGE_RECITATION", Reason.CONTENT_FILTER],
  ["MALFORMED_FUNCTION_CALL", Reason.ERROR],
  ["UNEXPECTED_TOOL_CALL", Reason.ERROR],
  ["TOO_MANY_TOOL_CALLS", Reason.ERROR],
  ["MALFORMED_RESPONSE", Reason.ERROR],
  ["MISSING_THOUGHT_SIGNATURE", Reason.ERROR],
]);
