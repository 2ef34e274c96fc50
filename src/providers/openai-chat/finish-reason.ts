import { create } from "@bufbuild/protobuf";
import {
  type FinishReason,
  FinishReasonSchema,
  FinishReason_Reason as Reason,
} from "../../gen/outrigger/v1/response_pb.ts";

/** What an answer holds that says more than the server's word. */
export interface Held {
  readonly toolCalls: boolean;
  readonly refusal: boolean;
}

/**
 * Why the model stopped (provider documentation: "The chat completion object", `finish_reason`).
 * Calls that wait for their results and a refusal say more than a plain `stop`, which servers
 * give for both.
 */
export function finishReasonOf(raw: string, { toolCalls, refusal }: Held): FinishReason {
  const reason = REASONS.get(raw.toLowerCase()) ?? Reason.OTHER;
  const isPlain = reason === Reason.STOP || raw === "";
  if (isPlain && toolCalls) return finish(Reason.TOOL_CALLS, raw);
  if (isPlain && refusal) return finish(Reason.CONTENT_FILTER, raw);
  return finish(reason, raw);
}

function finish(reason: Reason, raw: string): FinishReason {
  return create(FinishReasonSchema, { reason, raw });
}

const REASONS: ReadonlyMap<string, Reason> = new Map([
  ["stop", Reason.STOP],
  ["eos", Reason.STOP],
  ["end", Reason.STOP],
  ["end_turn", Reason.STOP],
  ["stop_sequence", Reason.STOP],
  ["length", Reason.LENGTH],
  ["model_length", Reason.LENGTH],
  ["max_tokens", Reason.LENGTH],
  ["model_context_window_exceeded", Reason.LENGTH],
  ["tool_calls", Reason.TOOL_CALLS],
  ["function_call", Reason.TOOL_CALLS],
  ["tool_use", Reason.TOOL_CALLS],
  ["content_filter", Reason.CONTENT_FILTER],
  ["refusal", Reason.CONTENT_FILTER],
  ["safety", Reason.CONTENT_FILTER],
  ["sensitive", Reason.CONTENT_FILTER],
  ["error", Reason.ERROR],
  ["network_error", Reason.ERROR],
  ["insufficient_system_resource", Reason.ERROR],
]);
