import type { ReasoningDetail, ToolCall } from "../../src/wire/openai-chat/parts.ts";
import type { AssistantMessageParam } from "../../src/wire/openai-chat/request.ts";
import { invalidRequest } from "../openai/problem.ts";
import { sealText, unsealText } from "../seal.ts";
import { getName } from "./tool-checks.ts";

/** First bytes of the signatures of reasoning, of encrypted reasoning and of the signatures of tool calls. */
const headers = {
  reasoning: Buffer.from([0x12, 0xb4]),
  encrypted: Buffer.from([0x80, 0]),
  call: Buffer.from([0x0a, 0x24]),
};

/** Creates the signature of the text of reasoning, for `reasoning_details`. */
export function signReasoning(text: string): string {
  return sealText(headers.reasoning, text, text);
}

/** Encrypts reasoning, for `reasoning_details`. */
export function encryptReasoning(text: string): string {
  return sealText(headers.encrypted, text, text);
}

/** Creates the signature of a tool call. */
export function signCall(id: string, name: string): string {
  return sealText(headers.call, `${id} ${name}`, [id, name]);
}

/** Checks that the returned `reasoning_details` are, byte for byte, the details of an answer. */
export function checkReasoning({ reasoning_details: details }: AssistantMessageParam, index: number): void {
  for (const [position, detail] of (details ?? []).entries()) {
    if (isGenuine(detail)) continue;
    const path = `messages[${index}].reasoning_details[${position}]`;
    throw invalidRequest(`Invalid signature in '${path}'.`, path, "invalid_value");
  }
}

function isGenuine({ type, text, signature, data }: ReasoningDetail): boolean {
  if (type === "reasoning.encrypted") return unsealText(headers.encrypted, data ?? "") !== undefined;
  return unsealText(headers.reasoning, signature ?? "") === text;
}

/** Checks that the first tool call of an assistant message has its original signature. */
export function checkSignature({ tool_calls: calls = [] }: AssistantMessageParam, index: number): void {
  const [first] = calls;
  if (first === undefined) return;
  const path = `messages[${index}].tool_calls[0]`;
  const signature = first.extra_content?.google?.thought_signature;
  if (signature === undefined) {
    const message =
      "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.";
    throw invalidRequest(message, path, "invalid_value");
  }
  if (!isSignatureFor(first, signature))
    throw invalidRequest("Thought signature is not valid.", path, "invalid_value");
}

function isSignatureFor(call: ToolCall, signature: string): boolean {
  const signed = unsealText(headers.call, signature);
  return JSON.stringify(signed) === JSON.stringify([call.id, getName(call)]);
}
