import type { ModelOptions } from "../model-options.ts";
import { invalidRequest, type Problem } from "../openai/problem.ts";
import { checkReasoning, checkSignature } from "./signatures.ts";
import type { ChatMessage } from "./wire.ts";

/**
 * Checks what the messages of a request say together: that every tool call is answered right behind it and every answer
 * has its call, and that what must come back unchanged does. Throws the problem that OpenAI, or the server with these
 * quirks, would find.
 */
export function checkConversation(messages: readonly ChatMessage[], options: ModelOptions): void {
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") checkAnswer(messages, index);
    if (message.role !== "assistant") continue;
    checkAnswered(messages, index);
    if (options.require_reasoning === true) requireReasoning(message, options);
    if (options.reasoning_field === "details") checkReasoning(message, index);
    if (options.thought_signatures === true) checkSignature(message, index);
  }
}

/** The message whose calls the tool message at that place answers: the last before it that is no tool message. */
function callerOf(messages: readonly ChatMessage[], index: number): ChatMessage | undefined {
  return messages.slice(0, index).findLast((message) => message.role !== "tool");
}

function checkAnswer(messages: readonly ChatMessage[], index: number): void {
  const calls = callerOf(messages, index)?.tool_calls;
  if (calls === undefined) {
    const message =
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
    throw invalidRequest(message, `messages.[${index}].role`, null);
  }
  const id = messages[index]?.tool_call_id;
  if (calls.some((call) => call.id === id)) return;
  const message = `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`;
  throw invalidRequest(message, `messages.[${index}].tool_call_id`, null);
}

function checkAnswered(messages: readonly ChatMessage[], index: number): void {
  const behind = messages.slice(index + 1);
  const end = behind.findIndex((message) => message.role !== "tool");
  const answers = end === -1 ? behind : behind.slice(0, end);
  const answered = new Set(answers.map((message) => message.tool_call_id));
  const open = (messages[index]?.tool_calls ?? []).filter((call) => !answered.has(call.id));
  if (open.length === 0) return;
  const message = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.map(({ id }) => id).join(", ")}`;
  throw invalidRequest(message, end === -1 ? "messages" : `messages.[${index + 1 + end}].role`, null);
}

/** DeepSeek wants the field in every assistant message, be it empty. */
function requireReasoning(message: ChatMessage, { reasoning_field: field }: ModelOptions): void {
  const name =
    field === "details" ? "reasoning_details" : field === "reasoning" ? field : "reasoning_content";
  if (message[name] === undefined) throw missingReasoning(name);
}

function missingReasoning(name: string): Problem {
  const message = `The \`${name}\` in the thinking mode must be passed back to the API.`;
  return invalidRequest(message, null, "invalid_request_error");
}
