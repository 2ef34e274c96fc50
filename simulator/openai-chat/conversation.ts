import type { AssistantMessageParam, MessageParam } from "../../src/wire/openai-chat/request.ts";
import type { ModelOptions } from "../model-options.ts";
import { invalidRequest, type Problem } from "../openai/problem.ts";
import { checkReasoning, checkSignature } from "./signatures.ts";
import { getToolCalls } from "./tool-calls.ts";

/**
 * Checks the messages of a request against each other: every tool call has its result directly after it, every result
 * has its call, and reasoning and signatures are returned unchanged. Throws the problem that OpenAI, or the server with
 * these quirks, would report.
 */
export function checkConversation(messages: readonly MessageParam[], options: ModelOptions): void {
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") checkResult(messages, index, message.tool_call_id);
    if (message.role !== "assistant") continue;
    checkHasResults(messages, index);
    if (options.require_reasoning === true) requireReasoning(message, options);
    if (options.reasoning_field === "details") checkReasoning(message, index);
    if (options.thought_signatures === true) checkSignature(message, index);
  }
}

/** Returns the message whose calls a tool message answers: the last message before it that is not a tool message. */
function getCaller(messages: readonly MessageParam[], index: number): MessageParam | undefined {
  return messages.slice(0, index).findLast((message) => message.role !== "tool");
}

function checkResult(messages: readonly MessageParam[], index: number, id: string): void {
  const calls = getToolCalls(getCaller(messages, index));
  if (calls === undefined) {
    const message =
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
    throw invalidRequest(message, `messages.[${index}].role`, null);
  }
  if (calls.some((call) => call.id === id)) return;
  const message = `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`;
  throw invalidRequest(message, `messages.[${index}].tool_call_id`, null);
}

function checkHasResults(messages: readonly MessageParam[], index: number): void {
  const following = messages.slice(index + 1);
  const end = following.findIndex((message) => message.role !== "tool");
  const results = end === -1 ? following : following.slice(0, end);
  const answered = new Set(results.map((message) => (message.role === "tool" ? message.tool_call_id : "")));
  const open = (getToolCalls(messages[index]) ?? []).filter((call) => !answered.has(call.id));
  if (open.length === 0) return;
  const message = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.map(({ id }) => id).join(", ")}`;
  throw invalidRequest(message, end === -1 ? "messages" : `messages.[${index + 1 + end}].role`, null);
}

/** DeepSeek requires the field in every assistant message; it may be empty. */
function requireReasoning(message: AssistantMessageParam, { reasoning_field: field }: ModelOptions): void {
  const name =
    field === "details" ? "reasoning_details" : field === "reasoning" ? field : "reasoning_content";
  if (message[name] === undefined) throw missingReasoning(name);
}

function missingReasoning(name: string): Problem {
  const message = `The \`${name}\` in the thinking mode must be passed back to the API.`;
  return invalidRequest(message, null, "invalid_request_error");
}
