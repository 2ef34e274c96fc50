import { invalidRequest } from "../openai/problem.ts";
import { sealText, unsealText } from "../seal.ts";
import type { ChatMessage, ChatToolCall, ReasoningDetail } from "./wire.ts";

/** What the signatures of thinking, the encrypted thinking and the signatures of tool calls begin with. */
const headers = {
  thinking: Buffer.from([0x12, 0xb4]),
  encrypted: Buffer.from([0x80, 0]),
  call: Buffer.from([0x0a, 0x24]),
};

/** The signature of a text of thinking, as a detail of reasoning carries it. */
export function signThinking(text: string): string {
  return sealText(headers.thinking, text, text);
}

/** Thinking that comes encrypted. */
export function encryptThinking(text: string): string {
  return sealText(headers.encrypted, text, text);
}

/** The signature of a tool call. */
export function signCall(id: string, name: string): string {
  return sealText(headers.call, `${id} ${name}`, [id, name]);
}

/** Checks that the details of reasoning that came back are, byte for byte, those that were given. */
export function checkReasoning({ reasoning_details: details }: ChatMessage, index: number): void {
  for (const [place, detail] of (details ?? []).entries()) {
    if (isGenuine(detail)) continue;
    const path = `messages[${index}].reasoning_details[${place}]`;
    throw invalidRequest(`Invalid signature in '${path}'.`, path, "invalid_value");
  }
}

function isGenuine({ type, text, signature, data }: ReasoningDetail): boolean {
  if (type === "reasoning.encrypted") return unsealText(headers.encrypted, data ?? "") !== undefined;
  return unsealText(headers.thinking, signature ?? "") === text;
}

/** Checks that the first tool call of an assistant message came back with the signature that it was given. */
export function checkSignature({ tool_calls: calls = [] }: ChatMessage, index: number): void {
  const [first] = calls;
  if (first === undefined) return;
  const path = `messages[${index}].tool_calls[0]`;
  const signature = first.extra_content?.google?.thought_signature;
  if (signature === undefined) {
    const message =
      "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.";
    throw invalidRequest(message, path, "invalid_value");
  }
  if (!isSignatureOf(first, signature))
    throw invalidRequest("Thought signature is not valid.", path, "invalid_value");
}

function isSignatureOf({ id, function: called }: ChatToolCall, signature: string): boolean {
  const signed = unsealText(headers.call, signature);
  return JSON.stringify(signed) === JSON.stringify([id, called?.name]);
}
