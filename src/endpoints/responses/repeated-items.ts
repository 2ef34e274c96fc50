/**
 * Leaves out items that the conversation of a request has already. Some clients name the response that they continue
 * and send the messages of its turn again (Strands Agents with `stateful=True`), or all but the model's (Semantic
 * Kernel): the provider would get the question, the calls and their reasoning twice.
 */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  type ContentPart,
  ContentPartSchema,
  type Message,
  MessageSchema,
  Role,
} from "../../gen/outrigger/v1/message_pb.ts";
import { answeredIds } from "../../runs/conversation.ts";
import type { StoredMessage } from "../../runs/store.ts";
import type { Draft, MessageDrafts, ModelTurn, ReturnedPart } from "./message-drafts.ts";
import type { ContinuedConversation } from "./read-history.ts";

/** The parts of a stored message that the client returned. */
export interface ReturnedMessage {
  readonly parts: ReadonlyMap<number, { readonly turn: ModelTurn; readonly returned: ReturnedPart }>;
}

/** Leaves repeated items out. @returns Ids of those returned messages that are part of the conversation. */
export async function removeRepeatedItems(
  drafts: MessageDrafts,
  returned: ReadonlyMap<string, ReturnedMessage>,
  conversation: ContinuedConversation,
): Promise<ReadonlySet<string>> {
  if (drafts.turns.length === 0) {
    await removeRepeatedInput(drafts, conversation);
    return new Set();
  }
  const history = await conversation.readEnd(new Set(returned.keys()), drafts.all.length);
  drafts.remove(new Set(drafts.all.slice(0, countRepeated(drafts.all, history))));
  const positions = new Map<Message, number>();
  const repeated = new Set<string>();
  for (const [index, { id }] of history.entries()) {
    for (const { turn, returned: part } of returned.get(id)?.parts.values() ?? []) {
      turn.remove(part);
      repeated.add(id);
      positions.set(turn.message, Math.min(index, positions.get(turn.message) ?? index));
    }
  }
  if (repeated.size === 0) return repeated;
  for (const turn of drafts.turns) if (positions.has(turn.message)) turn.removeReasoning();
  drafts.remove(findRepeated(drafts.all, history, positions));
  return repeated;
}

/**
 * Leaves out the question of a turn, and the results in it, from an input without messages of the model. Only results
 * show that a client repeats them: a user may say the same thing twice.
 */
async function removeRepeatedInput(
  drafts: MessageDrafts,
  conversation: ContinuedConversation,
): Promise<void> {
  const { all } = drafts;
  if (all.length < 2 || !all.some(({ message }) => isResult(message))) return;
  // Each of the messages may follow one of the model.
  const history = await conversation.readEnd(new Set(), 2 * all.length);
  const inputs = history
    .flatMap(({ message }) => message ?? [])
    .filter(({ role }) => role !== Role.ASSISTANT);
  const keys = all.map(({ message }) => toKey(message));
  const count = getOverlap(inputs.map(toKey), keys);
  const isTurn = all.slice(0, count + 1).some(({ message }) => isResult(message));
  if (isTurn) drafts.remove(new Set(all.slice(0, count)));
}

/**
 * Counts the messages at the beginning of the input that repeat the end of the conversation, as clients do whose
 * messages have no ids. Returns 0 if none of them is a message of the model.
 */
function countRepeated(drafts: readonly Draft[], history: readonly StoredMessage[]): number {
  const messages = history.flatMap(({ message }) => message ?? []);
  const count = getOverlap(
    messages.map(toKey),
    drafts.map(({ message }) => toKey(message)),
  );
  return drafts.slice(0, count).some(({ message }) => message.role === Role.ASSISTANT) ? count : 0;
}

/** Returns the length of the longest end of a list that is the beginning of another one (Knuth, Morris and Pratt). */
function getOverlap(first: readonly string[], second: readonly string[]): number {
  const borders: number[] = [0];
  const next = (length: number, key: string): number => {
    let rest = length;
    while (rest > 0 && second[rest] !== key) rest = borders[rest - 1] ?? 0;
    return second[rest] === key ? rest + 1 : 0;
  };
  for (const key of second.slice(1)) borders.push(next(borders.at(-1) ?? 0, key));
  let overlap = 0;
  for (const key of first) overlap = next(overlap, key);
  return overlap;
}

/** Messages with equal keys have the same role and content. */
function toKey(message: Message): string {
  const content = create(MessageSchema, {
    role: message.role,
    content: getContent(message).map((part) => create(ContentPartSchema, { part })),
  });
  return createHash("sha256").update(toBinary(MessageSchema, content)).digest("base64");
}

/**
 * Returns the messages that the history already has.
 * @param positions Positions in the history of the model's messages that are repeated, at least in part.
 */
function findRepeated(
  drafts: readonly Draft[],
  history: readonly StoredMessage[],
  positions: ReadonlyMap<Message, number>,
): ReadonlySet<Draft> {
  const messages = history.flatMap(({ message }) => message ?? []);
  const answered = new Set(messages.filter(isResult).flatMap(answeredIds));
  const repeated = new Set(
    drafts.filter(({ message }) => {
      if (isResult(message)) return answeredIds(message).every((id) => answered.has(id));
      return positions.has(message) && message.content.length === 0;
    }),
  );
  // Messages before a repeated message are repeated too, up to the first one that differs.
  const others = drafts.filter(({ message }) => !isResult(message));
  let end = -1;
  for (const draft of others.toReversed()) {
    const position = positions.get(draft.message);
    if (position !== undefined) end = position;
    else if (end >= 0) {
      const previous = messages.slice(0, end).findLastIndex((message) => !isResult(message));
      const isSame = previous >= 0 && hasSameContent(draft.message, messages[previous]);
      if (isSame) repeated.add(draft);
      end = isSame ? previous : -1;
    }
  }
  return repeated;
}

function isResult({ role }: Message): boolean {
  return role === Role.TOOL;
}

/** Ignores reasoning and provider state, which clients may have left out. */
function hasSameContent(draft: Message, stored: Message | undefined): boolean {
  return stored?.role === draft.role && isDeepStrictEqual(getContent(draft), getContent(stored));
}

function getContent({ content }: Message): readonly ContentPart["part"][] {
  return content.flatMap(({ part }) => (part.case === "reasoning" ? [] : [part]));
}
