import { type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import { asString, type JsonObject } from "../../kit/json/json.ts";
import type { WireMessage } from "./wire.ts";

/** The instructions that a conversation begins with. */
export function leadingMessages(messages: readonly Message[]): readonly Message[] {
  const end = messages.findIndex(({ role }) => role !== Role.SYSTEM && role !== Role.DEVELOPER);
  return end < 0 ? messages : messages.slice(0, end);
}

/**
 * Puts an instruction of ours behind the caller's own, into the last of the leading messages: many
 * servers take a single system message, and only as the first. Neither list is changed.
 */
export function withInstruction(messages: readonly WireMessage[], instruction: string): WireMessage[] {
  const end = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  const last = (end < 0 ? messages.length : end) - 1;
  const message = messages[last];
  if (message === undefined) return [{ role: "system", content: instruction }, ...messages];
  return messages.with(last, { ...message, content: extended(message.content, instruction) });
}

function extended(content: JsonObject[string], instruction: string): JsonObject[string] {
  if (Array.isArray(content)) return [...content, { type: "text", text: instruction }];
  const text = asString(content) ?? "";
  return text === "" ? instruction : `${text}\n\n${instruction}`;
}
