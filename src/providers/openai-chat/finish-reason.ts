import { type FinishReason, FinishReason_Reason as Reason } from "../../gen/outrigger/v1/response_pb.ts";
import { finishReason } from "../../kit/call/call-facts.ts";

/** The facts about the content of an answer that show why it ended. */
export interface AnswerContent {
  readonly hasToolCalls: boolean;
  readonly hasRefusal: boolean;
}

/**
 * Returns why the model stopped (provider documentation: "The chat completion object", `finish_reason`). Servers report
 * a plain `stop` for tool calls and for a refusal as well; the content is more precise.
 * @param stopSequence The stop sequence that ended the answer, if the server names it.
 */
export function toFinishReason(
  raw: string,
  { hasToolCalls, hasRefusal }: AnswerContent,
  stopSequence = "",
): FinishReason {
  // Gemini's details follow a colon: `content_filter: RECITATION`.
  const [word = ""] = raw.toLowerCase().replaceAll("-", "_").split(":");
  const reason = REASONS.get(word) ?? Reason.OTHER;
  const isPlain = reason === Reason.STOP || raw === "";
  if (isPlain && hasToolCalls) return finishReason(Reason.TOOL_CALLS, raw, stopSequence);
  if (isPlain && hasRefusal) return finishReason(Reason.CONTENT_FILTER, raw, stopSequence);
  return finishReason(reason, raw, stopSequence);
}

const REASONS: ReadonlyMap<string, Reason> = new Map([
  ["stop", Reason.STOP],
  ["eos", Reason.STOP],
  ["eos_token", Reason.STOP],
  ["end", Reason.STOP],
  ["end_turn", Reason.STOP],
  ["complete", Reason.STOP],
  ["stop_sequence", Reason.STOP],
  ["length", Reason.LENGTH],
  ["model_length", Reason.LENGTH],
  ["max_tokens", Reason.LENGTH],
  ["model_context_window_exceeded", Reason.LENGTH],
  ["tool_calls", Reason.TOOL_CALLS],
  ["function_call", Reason.TOOL_CALLS],
  ["tool_use", Reason.TOOL_CALLS],
  ["tool_call", Reason.TOOL_CALLS],
  ["content_filter", Reason.CONTENT_FILTER],
  ["refusal", Reason.CONTENT_FILTER],
  ["safety", Reason.CONTENT_FILTER],
  ["sensitive", Reason.CONTENT_FILTER],
  // Words of Bedrock, Cohere and Gemini, which routers pass on.
  ["max_length", Reason.LENGTH],
  ["max_output_tokens", Reason.LENGTH],
  ["content_filtered", Reason.CONTENT_FILTER],
  ["guardrail_intervened", Reason.CONTENT_FILTER],
  ["error_toxic", Reason.CONTENT_FILTER],
  ["recitation", Reason.CONTENT_FILTER],
  ["blocklist", Reason.CONTENT_FILTER],
  ["prohibited_content", Reason.CONTENT_FILTER],
  ["spii", Reason.CONTENT_FILTER],
  ["image_safety", Reason.CONTENT_FILTER],
  ["error", Reason.ERROR],
  ["function_call_filter", Reason.ERROR],
  ["malformed_function_call", Reason.ERROR],
  ["network_error", Reason.ERROR],
  ["insufficient_system_resource", Reason.ERROR],
  ["abort", Reason.ERROR],
  ["cancelled", Reason.ERROR],
]);
