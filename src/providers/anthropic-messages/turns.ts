/**
 * The order of the conversation as the API wants it: turns of one role come together, results
 * come first in the turn after their calls, and each call has its result there. What stands
 * earlier never depends on what comes later, so that the prompt cache finds the beginning of a
 * conversation again, and signatures that are bound to it stay valid.
 */

import { invalidField } from "../../core/errors.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import { textIn } from "../../kit/json/json.ts";
import type { Block } from "./wire.ts";

/** A turn of the conversation on its way to the wire. */
export interface Turn {
  readonly role: "user" | "assistant" | "system";
  /** Path of the message that it begins with, for errors. */
  readonly field: string;
  /** Results of tool calls; they go before the content. */
  readonly results: readonly Block[];
  readonly content: readonly Block[];
  /** Pictures of the assistant, which the API takes only from the user: they go into the next user turn. */
  readonly pictures: readonly Block[];
  /** The tool calls that it makes. */
  readonly calls: readonly CallPlace[];
  /** The tool calls that it answers. */
  readonly answers: readonly CallPlace[];
}

/** Where a tool call or its result stands. */
export interface CallPlace {
  /** The id on the wire. */
  readonly id: string;
  /** Path of the part, for errors. */
  readonly field: string;
}

/** Makes a turn of what it has. */
export function turnOf(turn: Pick<Turn, "role" | "field"> & Partial<Turn>): Turn {
  return { results: [], content: [], pictures: [], calls: [], answers: [], ...turn };
}

/**
 * Brings the turns into the order that the API wants.
 * @param takesSystem Whether the model takes system messages inside the conversation.
 * @throws InvalidRequestError naming a call without its result, or a result without its call.
 */
export function arrangeTurns(turns: readonly Turn[], takesSystem: boolean, loss: LossReport): Turn[] {
  const spoken = mergeTurns(handPicturesOn(turns).filter(saysSomething));
  const settled = spoken.map((turn, index) =>
    turn.role !== "system" || (takesSystem && standsWell(spoken, index)) ? turn : asUser(turn, loss),
  );
  const arranged = mergeTurns(settled);
  checkPairs(arranged);
  return arranged;
}

function saysSomething({ results, content }: Turn): boolean {
  return results.length > 0 || content.length > 0;
}

function handPicturesOn(turns: readonly Turn[]): Turn[] {
  let waiting: readonly Block[] = [];
  const arranged = turns.map((turn) => {
    if (turn.role === "user") {
      const content = [...waiting, ...turn.content];
      waiting = [];
      return { ...turn, content };
    }
    waiting = [...waiting, ...turn.pictures];
    return turn;
  });
  return [...arranged, turnOf({ role: "user", field: "messages", content: waiting })];
}

function mergeTurns(turns: readonly Turn[]): Turn[] {
  const merged: Turn[] = [];
  for (const turn of turns) {
    const last = merged.at(-1);
    if (last?.role === turn.role) merged[merged.length - 1] = joined(last, turn);
    else merged.push(turn);
  }
  return merged;
}

function joined(first: Turn, second: Turn): Turn {
  return {
    role: first.role,
    field: first.field,
    results: [...first.results, ...second.results],
    content: [...first.content, ...second.content],
    pictures: [],
    calls: [...first.calls, ...second.calls],
    answers: [...first.answers, ...second.answers],
  };
}

/** Provider documentation: "System messages" go behind a user turn, and last or before an assistant turn. */
function standsWell(turns: readonly Turn[], index: number): boolean {
  const next = turns[index + 1];
  return turns[index - 1]?.role === "user" && (next === undefined || next.role === "assistant");
}

/** Instructions as the user's words, in a tag that never changes. */
function asUser(turn: Turn, loss: LossReport): Turn {
  loss.lose(
    turn.field,
    "converted_content",
    "the model takes no system message at this place; it was sent as the user's, in <system_message>",
  );
  const content = turn.content.map((block) => ({
    ...block,
    text: `<system_message>\n${textIn(block.text)}\n</system_message>`,
  }));
  return { ...turn, role: "user", content };
}

/** Every call must be answered once in the very next turn, and nothing else may be. */
function checkPairs(turns: readonly Turn[]): void {
  for (const [index, { calls }] of turns.entries()) {
    const { answers = [], field = "messages" } = turns[index + 1] ?? {};
    const answered = new Set(answers.map(({ id }) => id));
    const open = calls.find(({ id }) => !answered.has(id));
    if (open !== undefined)
      throw invalidField(open.field, `expected its result in ${field}, right after the call`);
  }
  for (const [index, { answers }] of turns.entries()) {
    const open = new Set(turns[index - 1]?.calls.map(({ id }) => id));
    const stray = answers.find(({ id }) => !open.delete(id));
    if (stray !== undefined)
      throw invalidField(
        stray.field,
        "expected a tool call of the assistant's turn right before, answered once",
      );
  }
}
