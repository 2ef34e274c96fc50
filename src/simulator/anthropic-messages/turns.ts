import type { CreateRequest, InputBlock, Role } from "./wire.ts";

/** A block and where it stands. */
export interface PlacedBlock {
  readonly block: InputBlock;
  /** Path such as `messages.0.content.1`. */
  readonly path: string;
}

/** What one side says until the other side speaks. */
export interface ConversationTurn {
  readonly role: Role;
  /** Index of its first message. */
  readonly message: number;
  readonly blocks: readonly PlacedBlock[];
}

/** Reads the messages as turns. Messages of the same role in a row are one turn, and a text for a content is one block. */
export function turnsOf({ messages }: CreateRequest): readonly ConversationTurn[] {
  const turns: { role: Role; message: number; blocks: PlacedBlock[] }[] = [];
  messages.forEach(({ role, content }, message) => {
    const blocks = blocksOf(content).map((block, index) => ({
      block,
      path: `messages.${message}.content.${index}`,
    }));
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, message, blocks });
  });
  return turns;
}

/** The blocks of a content, which may be a text instead. */
export function blocksOf(content: unknown): readonly InputBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter((block) => typeof block === "object" && block !== null) : [];
}

/** Whether a turn hands in results of tools. */
export function bringsResults({ blocks }: ConversationTurn): boolean {
  return blocks.some(({ block }) => block.type === "tool_result");
}
