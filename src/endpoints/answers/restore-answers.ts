/**
 * Restores data of earlier answers with tool calls that clients drop. Most return the text and the calls of a message,
 * but neither its reasoning nor its signatures. All of them return the ids of the calls.
 */
import { parseJsonText } from "../../core/json-text.ts";
import type { RestoredState } from "../../core/source-form.ts";
import { type ContentPart, type Message, Role, type ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { readCustomInput } from "../../kit/adapter/custom-tool.ts";
import type { MessageSource } from "./earlier-messages.ts";

/** Maximum number of answers that are looked up for one request, the latest first: they matter most. */
const MAX_ANSWERS = 256;

/** Adds the reasoning and the state of recent answers to the assistant's messages with the same calls. */
export async function restoreAnswers(
  messages: readonly Message[],
  recent: MessageSource,
): Promise<RestoredState> {
  let [hasReasoning, hasCallState] = [false, false];
  const answers = messages.filter(({ role, content }) => role === Role.ASSISTANT && lacksState(content));
  for (const answer of answers.slice(-MAX_ANSWERS)) {
    const [call] = getCalls(answer.content);
    const kept = call && (await recent.findCall(call.id));
    if (kept?.message === undefined || !hasSameCalls(kept.message, answer)) continue;
    if (restoreCalls(answer, kept.message)) hasCallState = true;
    if (restoreReasoning(answer, kept.message)) hasReasoning = true;
  }
  return { hasReasoning, hasCallState };
}

/** A call from Anthropic may have state (its `caller`) although the reasoning before it is missing. */
function lacksState(content: readonly ContentPart[]): boolean {
  const calls = content.filter(({ part }) => part.case === "toolCall");
  const isComplete =
    content.some(hasReasoningState) && calls.every((call) => call.providerState !== undefined);
  return calls.length > 0 && !isComplete;
}

function hasReasoningState({ part, providerState }: ContentPart): boolean {
  return part.case === "reasoning" && providerState !== undefined;
}

function getCalls(content: readonly ContentPart[]): readonly ToolCall[] {
  return content.flatMap(({ part }) => (part.case === "toolCall" ? [part.value] : []));
}

/** Compares more than the ids, since some servers number the calls of each conversation from the start. */
function hasSameCalls(kept: Message, answer: Message): boolean {
  const [left, right] = [getCalls(kept.content), getCalls(answer.content)];
  const isSame = (call: ToolCall, index: number) => {
    const other = right[index];
    return call.id === other?.id && call.name === other.name && isSameInput(call, other);
  };
  return left.length === right.length && left.every(isSame);
}

/**
 * Ignores white space, since clients parse the arguments and serialize them again. The call of a custom tool can be a
 * function call of the provider.
 */
function isSameInput({ input: left }: ToolCall, { input: right }: ToolCall): boolean {
  if (left.case === "argumentsJson" && right.case === "text")
    return right.value === readCustomInput(left.value);
  return left.value === right.value || normalize(left.value) === normalize(right.value);
}

function normalize(json: string | undefined): string | undefined {
  try {
    return JSON.stringify(parseJsonText(json ?? ""));
  } catch {
    return json;
  }
}

/** Restores the state of the calls. Returns whether any was restored. */
function restoreCalls(answer: Message, kept: Message): boolean {
  const states = new Map(
    kept.content.flatMap(({ part, providerState }) =>
      part.case === "toolCall" && providerState !== undefined
        ? [[part.value.id, providerState] as const]
        : [],
    ),
  );
  let hasState = false;
  for (const part of answer.content) {
    const state = part.part.case === "toolCall" ? states.get(part.part.value.id) : undefined;
    if (state === undefined || part.providerState !== undefined) continue;
    part.providerState = state;
    hasState = true;
  }
  return hasState;
}

/** Restores the reasoning unless the client returned it. Returns whether any was restored. */
function restoreReasoning(answer: Message, kept: Message): boolean {
  const isReturned = answer.content.some(hasReasoningState);
  const reasoning = kept.content.filter(({ part }) => part.case === "reasoning");
  if (isReturned || reasoning.length === 0) return false;
  answer.content = [...reasoning, ...answer.content.filter(({ part }) => part.case !== "reasoning")];
  return true;
}
