/**
 * `thinking_blocks` (LiteLLM documentation: "Reasoning content"): reasoning with the signature that is sent back with
 * it.
 */
import { textIn } from "../../kit/json/json.ts";
import type { ThinkingBlock } from "../../wire/openai-chat/parts.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/**
 * Adds the blocks of one delta to the earlier ones. A stream sends a block in pieces, its signature in the last one; a
 * redacted block is whole.
 */
export function addThinkingBlocks(
  known: Untrusted<ThinkingBlock>[],
  added: readonly Untrusted<ThinkingBlock>[],
): void {
  for (const block of added) {
    const last = known.at(-1);
    if (last !== undefined && isUnfinished(last) && block.type === last.type) extend(last, block);
    else known.push(block);
  }
}

function isUnfinished({ type, signature }: Untrusted<ThinkingBlock>): boolean {
  return type === "thinking" && textIn(signature) === "";
}

/** Adds a piece. Not a copy, which would be repeated for each of many pieces with additional fields. */
function extend(last: Untrusted<ThinkingBlock>, piece: Untrusted<ThinkingBlock>): void {
  const signature = textIn(piece.signature) === "" ? last.signature : piece.signature;
  const thinking = textIn(last.thinking) + textIn(piece.thinking);
  Object.assign(last, piece, { thinking, signature });
}

/** Returns the readable text of blocks, for servers that send no other. */
export function getThinkingText(blocks: readonly Untrusted<ThinkingBlock>[]): string {
  return blocks.map(({ thinking }) => textIn(thinking)).join("");
}
