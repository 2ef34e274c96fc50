import { createHash } from "node:crypto";
import { blocksOf } from "./turns.ts";
import type { AnswerBlock, CreateRequest, InputBlock, Role } from "./wire.ts";

/**
 * The fingerprint of a conversation up to some block: of tools, instructions, and all that was said before. What a caller
 * may change on the way (cache marks, citations, how texts are split into messages) does not count.
 */
export interface ConversationPrint {
  readonly value: string;
  /** The fingerprint with one more block. */
  with(role: Role, block: InputBlock | AnswerBlock): ConversationPrint;
}

/** Starts the fingerprint of a request's conversation, before its first message. */
export function beginPrint({ system, tools }: CreateRequest): ConversationPrint {
  return printOf(digest("", [withoutMarks(tools ?? []), blocksOf(system).map(essenceOf)]));
}

function printOf(value: string): ConversationPrint {
  return { value, with: (role, block) => printOf(digest(value, [role, essenceOf(block)])) };
}

/** What counts of a block. */
function essenceOf(block: InputBlock | AnswerBlock): unknown {
  switch (block.type) {
    case "text":
      return block.text;
    case "tool_use":
      return [block.id, block.name, block.input];
    case "tool_result":
      return [block.tool_use_id, blocksOf(block.content).map(essenceOf)];
    default:
      return withoutMarks(block);
  }
}

function withoutMarks(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, each) => (key === "cache_control" ? undefined : each)));
}

function digest(before: string, value: unknown): string {
  return createHash("sha256").update(before).update(JSON.stringify(value)).digest("base64");
}
