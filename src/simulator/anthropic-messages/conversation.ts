import { invalidAt, invalidRequest } from "./problem.ts";
import { isEncryptedSource } from "./signatures.ts";
import { blocksOf, bringsResults, type ConversationTurn, type PlacedBlock, turnsOf } from "./turns.ts";
import type { CreateRequest } from "./wire.ts";

/** Blocks that only one side may use. Hosted tools are the assistant's, too. */
const sideOf: Readonly<Record<string, string>> = {
  tool_use: "assistant",
  server_tool_use: "assistant",
  thinking: "assistant",
  redacted_thinking: "assistant",
  tool_result: "user",
  image: "user",
  search_result: "user",
};

/**
 * Checks what the messages of a request say together: who says what, that no text is empty, that calls and results
 * match, and that the user has the last word. Throws the problem that Anthropic would find. Returns the turns.
 */
export function checkConversation(request: CreateRequest): readonly ConversationTurn[] {
  const turns = turnsOf(request);
  checkTexts(turns);
  turns.forEach((turn, index) => {
    for (const placed of turn.blocks) checkSide(turn, placed);
    if (turn.role === "system") checkSystemTurn(turn, turns[index - 1]);
    checkResults(turn, turns[index - 1]);
    if (turn.role === "assistant") checkServerTools(turn);
  });
  checkCalls(turns);
  if (turns.at(-1)?.role === "assistant") {
    throw invalidRequest(
      "This model does not support assistant message prefill. The conversation must end with a user message.",
    );
  }
  return turns;
}

function checkTexts(turns: readonly ConversationTurn[]): void {
  for (const { role, message, blocks } of turns) {
    if (blocks.length === 0)
      throw invalidAt(`messages.${message}`, `${role} messages must have non-empty content`);
    for (const { block } of blocks) {
      if (block.type !== "text") continue;
      if (block.text === "") throw invalidRequest("messages: text content blocks must be non-empty");
      if (block.text?.trim() === "") {
        throw invalidRequest("messages: text content blocks must contain non-whitespace text");
      }
    }
  }
}

function checkSide({ role, message }: ConversationTurn, { block }: PlacedBlock): void {
  const side = sideOf[block.type];
  if (side === undefined || side === role || role === "system") return;
  throw invalidAt(`messages.${message}`, `\`${block.type}\` blocks can only be in \`${side}\` messages`);
}

function checkSystemTurn({ message, blocks }: ConversationTurn, before: ConversationTurn | undefined): void {
  const path = `messages.${message}`;
  if (blocks.some(({ block }) => block.type !== "text")) {
    throw invalidAt(path, "`system` messages can only have `text` blocks");
  }
  if (before?.role !== "user") throw invalidAt(path, "`system` messages must come after a `user` message");
}

/** Each result answers one call of the assistant's turn right before it, and no two the same. */
function checkResults({ blocks }: ConversationTurn, before: ConversationTurn | undefined): void {
  const open = callIdsIn(before);
  const answered = new Set<string>();
  for (const { block, path } of blocks) {
    const id = block.tool_use_id ?? "";
    if (block.type !== "tool_result") continue;
    if (!open.includes(id)) {
      throw invalidAt(
        path,
        `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    }
    if (answered.has(id)) {
      throw invalidAt(
        path,
        `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
      );
    }
    answered.add(id);
  }
}

/** Each call has its result at the beginning of the turn right behind it. */
function checkCalls(turns: readonly ConversationTurn[]): void {
  const all = turns.flatMap((turn) => callIdsIn(turn));
  if (new Set(all).size < all.length) throw invalidRequest("messages: `tool_use` ids must be unique");
  for (const [index, turn] of turns.entries()) {
    const answered = leadingResults(turns[index + 1]);
    const missing = callIdsIn(turn).filter((id) => !answered.includes(id));
    if (missing.length === 0) continue;
    throw invalidAt(
      `messages.${turn.message}`,
      `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    );
  }
}

function callIdsIn(turn: ConversationTurn | undefined): string[] {
  const blocks = turn?.blocks ?? [];
  return blocks.filter(({ block }) => block.type === "tool_use").map(({ block }) => block.id ?? "");
}

function leadingResults(turn: ConversationTurn | undefined): string[] {
  if (turn === undefined || !bringsResults(turn)) return [];
  const end = turn.blocks.findIndex(({ block }) => block.type !== "tool_result");
  return turn.blocks.slice(0, end === -1 ? undefined : end).map(({ block }) => block.tool_use_id ?? "");
}

/** Hosted tools answer themselves, within the assistant's turn, and what they found comes back as it was. */
function checkServerTools({ blocks }: ConversationTurn): void {
  const called = new Set<string>();
  for (const { block, path } of blocks) {
    if (block.type === "server_tool_use") called.add(block.id ?? "");
    if (block.type !== "web_search_tool_result") continue;
    const id = block.tool_use_id ?? "";
    if (!called.delete(id)) {
      throw invalidAt(
        path,
        `unexpected \`tool_use_id\` found in \`${block.type}\` blocks: ${id}. Each \`${block.type}\` block must have a corresponding \`server_tool_use\` block before it.`,
      );
    }
    checkSources(block.content, path);
  }
}

function checkSources(content: unknown, path: string): void {
  blocksOf(content).forEach(({ encrypted_content: source }, index) => {
    if (isEncryptedSource(source)) return;
    throw invalidAt(`${path}.content.${index}`, "Invalid `encrypted_content` in `web_search_result` block");
  });
}
