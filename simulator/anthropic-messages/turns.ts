import type { ContentBlockParam, MessageRole } from "../../src/wire/anthropic-messages/request.ts";
import type { CreateRequest } from "./create-request.ts";

/** A block and its path. */
export interface BlockAtPath {
  readonly block: ContentBlockParam;
  /** Path such as `messages.0.content.1`. */
  readonly path: string;
}

/** Consecutive messages of one role. */
export interface ConversationTurn {
  readonly role: MessageRole;
  /** Index of its first message. */
  readonly message: number;
  readonly blocks: readonly BlockAtPath[];
}

/**
 * Reads the messages as turns. Consecutive messages of the same role are one turn, and a string as content is one text
 * block.
 */
export function toTurns({ messages }: CreateRequest): readonly ConversationTurn[] {
  const turns: { role: MessageRole; message: number; blocks: BlockAtPath[] }[] = [];
  messages.forEach(({ role, content }, message) => {
    const blocks = getBlocks(content).map((block, index) => ({
      block,
      path: `messages.${message}.content.${index}`,
    }));
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, message, blocks });
  });
  return turns;
}

/** Returns the blocks of checked content, which may be a string instead. */
export function getBlocks(content: unknown): readonly ContentBlockParam[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter((block) => typeof block === "object" && block !== null) : [];
}

/** Reports whether a turn has tool results. */
export function hasResults({ blocks }: ConversationTurn): boolean {
  return blocks.some(({ block }) => block.type === "tool_result");
}
