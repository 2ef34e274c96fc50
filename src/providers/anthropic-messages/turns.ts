/**
 * The order of the conversation as the API requires it: messages of one role become one turn, results come first in the
 * turn after their calls, and each call has its result there. Earlier parts never depend on later ones, so that the
 * prompt cache recognizes the beginning of a conversation, and signatures that are bound to it stay valid.
 */

import { invalidField } from "../../core/errors.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import { textIn } from "../../kit/json/json.ts";
import type { MessageRole } from "../../wire/anthropic-messages/request.ts";
import type { RequestBlock } from "./context.ts";

/** Consecutive messages of one role. */
export interface Turn {
  readonly role: MessageRole;
  /** Path of its first message, for errors. */
  readonly field: string;
  /** Results of tool calls; they go before the content. */
  readonly results: readonly RequestBlock[];
  readonly content: readonly RequestBlock[];
  /** Images of the assistant, which the API accepts only from the user: they go into the next user turn. */
  readonly images: readonly RequestBlock[];
  /** The tool calls that the turn makes. */
  readonly calls: readonly CallReference[];
  /** The tool calls that the turn answers. */
  readonly answers: readonly CallReference[];
}

/** A tool call, or the result of one. */
export interface CallReference {
  /** The call's id on the wire. */
  readonly id: string;
  /** Path of the part, for errors. */
  readonly field: string;
}

/** Creates a turn from the given fields; the others are empty. */
export function toTurn(turn: Pick<Turn, "role" | "field"> & Partial<Turn>): Turn {
  return { results: [], content: [], images: [], calls: [], answers: [], ...turn };
}

/**
 * Brings the turns into the order that the API requires.
 * @param takesSystem Whether the model accepts system messages inside the conversation.
 * @throws InvalidRequestError naming a call without its result, or a result without its call.
 */
export function arrangeTurns(turns: readonly Turn[], takesSystem: boolean, loss: LossReport): Turn[] {
  const merged = mergeTurns(moveImages(turns).filter(hasContent));
  const converted = merged.map((turn, index) =>
    turn.role !== "system" || (takesSystem && isSystemAllowed(merged, index)) ? turn : asUser(turn, loss),
  );
  const arranged = mergeTurns(converted);
  checkPairs(arranged);
  return arranged;
}

function hasContent({ results, content }: Turn): boolean {
  return results.length > 0 || content.length > 0;
}

/** Moves the assistant's images to the beginning of the next user turn; one is added if none follows. */
function moveImages(turns: readonly Turn[]): Turn[] {
  let pending: RequestBlock[] = [];
  const moved = turns.map((turn) => {
    if (turn.role === "user") {
      const content = [...pending, ...turn.content];
      pending = [];
      return { ...turn, content };
    }
    for (const image of turn.images) pending.push(image);
    return turn;
  });
  return [...moved, toTurn({ role: "user", field: "messages", content: pending })];
}

function mergeTurns(turns: readonly Turn[]): Turn[] {
  const groups: [Turn, ...Turn[]][] = [];
  for (const turn of turns) {
    const group = groups.at(-1);
    if (group?.[0].role === turn.role) group.push(turn);
    else groups.push([turn]);
  }
  return groups.map(joinTurns);
}

/** Joins turns of one role. All at once: a request may have tens of thousands of them. */
function joinTurns(turns: readonly [Turn, ...Turn[]]): Turn {
  const [first] = turns;
  if (turns.length === 1) return first;
  return {
    role: first.role,
    field: first.field,
    results: turns.flatMap(({ results }) => results),
    content: turns.flatMap(({ content }) => content),
    images: [],
    calls: turns.flatMap(({ calls }) => calls),
    answers: turns.flatMap(({ answers }) => answers),
  };
}

/**
 * Reports whether a system message is allowed here: it must follow a user turn, and be last or before an assistant turn
 * (provider documentation: "System messages").
 */
function isSystemAllowed(turns: readonly Turn[], index: number): boolean {
  const next = turns[index + 1];
  return turns[index - 1]?.role === "user" && (next === undefined || next.role === "assistant");
}

/** Converts instructions to text of the user, in a tag that never changes. */
function asUser(turn: Turn, loss: LossReport): Turn {
  loss.lose(
    turn.field,
    "converted_content",
    "the model does not accept a system message at this position; it was sent as the user's, in <system_message>",
  );
  const content = turn.content.map((block) => ({
    ...block,
    text: `<system_message>\n${textIn(block.text)}\n</system_message>`,
  }));
  return { ...turn, role: "user", content };
}

/** Checks that every call is answered once in the turn right after it, and that every answer belongs to a call. */
function checkPairs(turns: readonly Turn[]): void {
  for (const [index, { calls }] of turns.entries()) {
    const { answers = [], field = "messages" } = turns[index + 1] ?? {};
    const answered = new Set(answers.map(({ id }) => id));
    const unanswered = calls.find(({ id }) => !answered.has(id));
    if (unanswered !== undefined)
      throw invalidField(unanswered.field, `expected its result in ${field}, right after the call`);
  }
  for (const [index, { answers }] of turns.entries()) {
    const unanswered = new Set(turns[index - 1]?.calls.map(({ id }) => id));
    const unmatched = answers.find(({ id }) => !unanswered.delete(id));
    if (unmatched !== undefined)
      throw invalidField(
        unmatched.field,
        "expected a tool call of the assistant's turn right before, answered once",
      );
  }
}
