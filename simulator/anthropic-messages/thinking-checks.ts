import type { ContentBlockParam } from "../../src/wire/anthropic-messages/request.ts";
import type { ModelChoice } from "../model-choice.ts";
import { beginFingerprint, type ConversationFingerprint } from "./conversation-fingerprint.ts";
import type { CreateRequest } from "./create-request.ts";
import { parseThinkingBefore, withoutOptions } from "./ids.ts";
import { invalidAt } from "./problem.ts";
import { checkSignature, type SignatureState } from "./signatures.ts";
import { type BlockAtPath, type ConversationTurn, hasResults } from "./turns.ts";

/** The thinking that was sent back. */
export interface CheckedThinking {
  /** Fingerprint of the whole conversation, without the blocks that were dropped. */
  readonly before: ConversationFingerprint;
  /** Paths of the blocks that were dropped. */
  readonly dropped: readonly string[];
}

/**
 * Checks the returned thinking: each block is byte for byte as it was sent, after the conversation in which it was
 * created, and none is missing in the turn whose calls are being answered. Blocks after another conversation are
 * dropped if the request asks for that. Throws the problem that Anthropic would find.
 */
export function checkThinkingBlocks(
  request: CreateRequest,
  turns: readonly ConversationTurn[],
  { script, model: modelString }: ModelChoice,
): CheckedThinking {
  const model = withoutOptions(modelString);
  const [latest, results] = turns.slice(-2);
  if (latest !== undefined && results !== undefined && hasResults(results)) {
    checkCompleteness(latest.blocks, model);
    if (request.thinking?.type === "enabled" && script === "reasoning") checkBeginning(latest);
  }
  const drops = dropsMovedBlocks(request);
  const dropped: string[] = [];
  let before = beginFingerprint(request);
  for (const { role, blocks } of turns) {
    for (const { block, path } of blocks) {
      const state = isThinking(block) ? readState(block, before, model) : "intact";
      if (state === "moved" && drops) {
        dropped.push(path);
        continue;
      }
      if (state !== "intact") throw invalidSignature(block.type, path, state === "moved");
      before = before.with(role, block);
    }
  }
  return { before, dropped };
}

function dropsMovedBlocks({ thinking }: CreateRequest): boolean {
  if (thinking?.type !== "adaptive" && thinking?.type !== "enabled") return false;
  return thinking.block_binding?.prefix_mismatch_behavior === "drop_block";
}

function readState(block: ThinkingBlock, before: ConversationFingerprint, model: string): SignatureState {
  return block.type === "thinking"
    ? checkSignature(block.signature, block.thinking, model, before)
    : checkSignature(block.data, undefined, model, before);
}

function invalidSignature(type: string, path: string, isMoved: boolean): Error {
  const field = type === "thinking" ? "signature" : "data";
  const reason = isMoved
    ? ". The block is bound to a different conversation: the tools, the instructions or the messages before it have changed."
    : "";
  return invalidAt(path, `Invalid \`${field}\` in \`${type}\` block${reason}`);
}

/** The ids of the calls in the latest turn encode how many thinking blocks came before them. */
function checkCompleteness(blocks: readonly BlockAtPath[], model: string): void {
  let thinking = 0;
  for (const { block, path } of blocks) {
    if (isThinking(block)) thinking += 1;
    const expected = block.type === "tool_use" ? parseThinkingBefore(block.id, model) : undefined;
    if (expected === undefined || expected === thinking) continue;
    throw invalidAt(
      path,
      "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
    );
  }
}

/** A model with a thinking budget continues only calls that it created after thinking. */
function checkBeginning({ blocks }: ConversationTurn): void {
  const [first] = blocks;
  if (first === undefined || isThinking(first.block)) return;
  throw invalidAt(
    `${first.path}.type`,
    `Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.block.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
  );
}

type ThinkingBlock = Extract<ContentBlockParam, { type: "thinking" | "redacted_thinking" }>;

function isThinking(block: ContentBlockParam): block is ThinkingBlock {
  return block.type === "thinking" || block.type === "redacted_thinking";
}
