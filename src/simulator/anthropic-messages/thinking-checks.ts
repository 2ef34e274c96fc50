import type { ModelChoice } from "../model-choice.ts";
import { beginPrint, type ConversationPrint } from "./conversation-print.ts";
import { thinkingBeforeOf, withoutOptions } from "./ids.ts";
import { invalidAt } from "./problem.ts";
import { checkSignature } from "./signatures.ts";
import { bringsResults, type ConversationTurn, type PlacedBlock } from "./turns.ts";
import type { CreateRequest, InputBlock } from "./wire.ts";

/**
 * Checks the thinking that came back: each block byte for byte as it was given, behind the very conversation that it was
 * given for, and in the turn whose calls are being answered none of it missing. Throws the problem that Anthropic would
 * find. Returns the fingerprint of the whole conversation.
 */
export function checkThinkingBlocks(
  request: CreateRequest,
  turns: readonly ConversationTurn[],
  { script, model: modelString }: ModelChoice,
): ConversationPrint {
  const model = withoutOptions(modelString);
  const [latest, results] = turns.slice(-2);
  if (latest !== undefined && results !== undefined && bringsResults(results)) {
    checkCompleteness(latest.blocks, model);
    if (request.thinking?.type === "enabled" && script === "reasoning") checkBeginning(latest);
  }
  let before = beginPrint(request);
  for (const { role, blocks } of turns) {
    for (const placed of blocks) {
      if (isThinking(placed.block)) checkBlock(placed, before, model);
      before = before.with(role, placed.block);
    }
  }
  return before;
}

function checkBlock({ block, path }: PlacedBlock, before: ConversationPrint, model: string): void {
  const signature = (block.type === "thinking" ? block.signature : block.data) ?? "";
  const state = checkSignature(signature, block.thinking, model, before);
  if (state !== "intact") throw invalidSignature(block.type, path, state === "elsewhere");
}

function invalidSignature(type: string, path: string, elsewhere: boolean): Error {
  const field = type === "thinking" ? "signature" : "data";
  const reason = elsewhere
    ? ". The block is bound to a different conversation: the tools, the instructions or what was said before it have changed."
    : "";
  return invalidAt(path, `Invalid \`${field}\` in \`${type}\` block${reason}`);
}

/** The calls that the model made in the latest turn say how much thinking stood before them. */
function checkCompleteness(blocks: readonly PlacedBlock[], model: string): void {
  let thinking = 0;
  for (const { block, path } of blocks) {
    if (isThinking(block)) thinking += 1;
    const expected = block.type === "tool_use" ? thinkingBeforeOf(block.id ?? "", model) : undefined;
    if (expected === undefined || expected === thinking) continue;
    throw invalidAt(
      path,
      "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
    );
  }
}

/** With a budget the model only goes on from calls that it thought about. */
function checkBeginning({ blocks }: ConversationTurn): void {
  const [first] = blocks;
  if (first === undefined || isThinking(first.block)) return;
  throw invalidAt(
    `${first.path}.type`,
    `Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.block.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
  );
}

function isThinking({ type }: InputBlock): boolean {
  return type === "thinking" || type === "redacted_thinking";
}
