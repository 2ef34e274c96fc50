import { toolMessage } from "../../core/tools.ts";
import type { StepResult } from "../../gen/outrigger/v1/generation_pb.ts";
import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import { type FinishReason, FinishReason_Reason, type Response } from "../../gen/outrigger/v1/response_pb.ts";

/** Whether a provider interrupted its turn, to continue when it gets its answer back. */
export function isPaused(response: Response | undefined): boolean {
  return response?.finishReason !== undefined && isPause(response.finishReason);
}

/** Whether an answer ended because the provider interrupted its turn (Anthropic's "Stop reasons"). */
export function isPause({ reason, raw }: FinishReason): boolean {
  return reason === FinishReason_Reason.OTHER && raw === "pause_turn";
}

/**
 * Returns the messages that a step adds to its conversation: the answer unchanged, then one message for each result, in
 * order.
 */
export function toStepMessages({ response, toolResults }: StepResult): Message[] {
  const answer = response?.message;
  return [...(answer === undefined ? [] : [answer]), ...toolResults.map(toolMessage)];
}
