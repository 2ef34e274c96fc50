import { create } from "@bufbuild/protobuf";
import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import { type Message, MessageSchema, Role, type ToolResult } from "../gen/outrigger/v1/message_pb.ts";

/** What a step adds to its conversation: the answer unchanged, then one message for each result, in their order. */
export function messagesOfStep({ response, toolResults }: StepResult): Message[] {
  const answer = response?.message;
  return [...(answer === undefined ? [] : [answer]), ...toolResults.map(toolMessage)];
}

/** The message that sends a tool's result to the model. */
export function toolMessage(result: ToolResult): Message {
  return create(MessageSchema, {
    role: Role.TOOL,
    toolCallId: result.toolCallId,
    content: [{ part: { case: "toolResult", value: result } }],
  });
}
