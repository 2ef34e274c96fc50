import { type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import type { ContentParam, MessageParam } from "../../wire/openai-chat/request.ts";

/** Returns the instructions at the beginning of a conversation. */
export function leadingInstructions(messages: readonly Message[]): readonly Message[] {
  const end = messages.findIndex(({ role }) => role !== Role.SYSTEM && role !== Role.DEVELOPER);
  return end < 0 ? messages : messages.slice(0, end);
}

/**
 * Adds an instruction after the caller's instructions, in the last of the leading messages: many servers accept a
 * single system message, and only as the first. The list is not changed.
 */
export function withInstruction(messages: readonly MessageParam[], instruction: string): MessageParam[] {
  const end = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  const last = (end < 0 ? messages.length : end) - 1;
  const message = messages[last];
  if (message?.role !== "system" && message?.role !== "developer")
    return [{ role: "system", content: instruction }, ...messages];
  return messages.with(last, { ...message, content: extended(message.content, instruction) });
}

function extended(content: ContentParam, instruction: string): ContentParam {
  if (typeof content !== "string") return [...content, { type: "text", text: instruction }];
  return content === "" ? instruction : `${content}\n\n${instruction}`;
}
