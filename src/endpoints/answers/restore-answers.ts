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
  const answers = [...messages.entries()].filter(([, message]) => lacksState(message));
  for (const [index, answer] of answers.slice(-MAX_ANSWERS)) {
    const [call] = getCalls(answer);
    const kept = call && (await recent.findCall(call.id));
    if (kept?.message === undefined || !joinCalls(messages, index, kept.message)) continue;
    if (restoreCalls(answer, kept.message)) hasCallState = true;
    if (restoreReasoning(answer, kept.message)) hasReasoning = true;
  }
  return { hasReasoning, hasCallState };
}

/** A call from Anthropic may have state (its `caller`) although the reasoning before it is missing. */
function lacksState({ role, content }: Message): boolean {
  if (role !== Role.ASSISTANT) return false;
  const calls = content.filter(({ part }) => part.case === "toolCall");
  const isComplete =
    content.some(hasReasoningState) && calls.every((call) => call.providerState !== undefined);
  return calls.length > 0 && !isComplete;
}

function hasReasoningState({ part, providerState }: ContentPart): boolean {
  return part.case === "reasoning" && providerState !== undefined;
}

function getCalls({ content }: Pick<Message, "content">): readonly ToolCall[] {
  return content.flatMap(({ part }) => (part.case === "toolCall" ? [part.value] : []));
}

/**
 * Joins the calls of an answer if the client returned them in several messages, each with its result. The messages
 * after the first stay without content, since errors name messages by their index.
 * @param start Index of the message with the first call.
 * @returns Whether these are the calls of the kept answer. If not, nothing is changed.
 */
function joinCalls(messages: readonly Message[], start: number, kept: Message): boolean {
  const [first, ...others] = findPieces(messages, start, getCalls(kept).length);
  if (first === undefined) return false;
  const content = [first, ...others].flatMap((piece) => piece.content);
  if (!hasSameCalls(kept, { content })) return false;
  first.content = content;
  for (const piece of others) piece.content = [];
  return true;
}

/** Returns a message with calls, and the messages after it that have nothing but calls, until there are `count`. */
function findPieces(messages: readonly Message[], start: number, count: number): readonly Message[] {
  const pieces: Message[] = [];
  let found = 0;
  for (let index = start; found < count; index += 1) {
    const message = messages[index];
    if (message?.role === Role.TOOL) continue;
    const calls = message?.role === Role.ASSISTANT ? getCalls(message) : [];
    if (message === undefined || calls.length === 0) break;
    if (index > start && calls.length < message.content.length) break;
    pieces.push(message);
    found += calls.length;
  }
  return pieces;
}

/** Compares more than the ids, since some servers number the calls of each conversation from the start. */
function hasSameCalls(kept: Message, answer: Pick<Message, "content">): boolean {
  const [left, right] = [getCalls(kept), getCalls(answer)];
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
