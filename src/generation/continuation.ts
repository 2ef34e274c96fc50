import { toolMessage } from "../core/tools.ts";
import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import type { Message } from "../gen/outrigger/v1/message_pb.ts";

/** What a step adds to its conversation: the answer unchanged, then one message for each result, in their order. */
export function messagesOfStep({ response, toolResults }: StepResult): Message[] {
  const answer = response?.message;
  return [...(answer === undefined ? [] : [answer]), ...toolResults.map(toolMessage)];
}
