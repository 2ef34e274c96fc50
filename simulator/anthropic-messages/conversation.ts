import type {
  ContentBlockParam,
  MessageRole,
  ToolResultBlockParam,
  WebSearchToolResultBlockParam,
} from "../../src/wire/anthropic-messages/request.ts";
import type { CreateRequest } from "./create-request.ts";
import { invalidAt, invalidRequest } from "./problem.ts";
import { isEncryptedSource } from "./signatures.ts";
import { type BlockAtPath, type ConversationTurn, hasResults, toTurns } from "./turns.ts";

/** Blocks that only messages of one role may have. Blocks of hosted tools belong to the assistant, too. */
const REQUIRED_ROLES: { readonly [Type in ContentBlockParam["type"]]?: MessageRole } = {
  tool_use: "assistant",
  server_tool_use: "assistant",
  thinking: "assistant",
  redacted_thinking: "assistant",
  tool_result: "user",
  image: "user",
  search_result: "user",
};

/** Blocks of system messages: instructions, and changes of the tools. */
const SYSTEM_BLOCKS: ReadonlySet<string> = new Set<ContentBlockParam["type"]>([
  "text",
  "tool_addition",
  "tool_removal",
]);

/**
 * Checks the messages of a request together: which roles have which blocks, that no text is empty, that calls and
 * results match, and that the last message is not the assistant's. Throws the problem that Anthropic would find.
 * Returns the turns.
 */
export function checkConversation(request: CreateRequest): readonly ConversationTurn[] {
  const turns = toTurns(request);
  checkTexts(turns);
  turns.forEach((turn, index) => {
    for (const block of turn.blocks) checkRole(turn, block);
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
      if (block.text.trim() === "") {
        throw invalidRequest("messages: text content blocks must contain non-whitespace text");
      }
    }
  }
}

function checkRole({ role, message }: ConversationTurn, { block }: BlockAtPath): void {
  const required = REQUIRED_ROLES[block.type];
  if (required === undefined || required === role || role === "system") return;
  throw invalidAt(`messages.${message}`, `\`${block.type}\` blocks can only be in \`${required}\` messages`);
}

function checkSystemTurn({ message, blocks }: ConversationTurn, before: ConversationTurn | undefined): void {
  const path = `messages.${message}`;
  if (!blocks.every(({ block }) => SYSTEM_BLOCKS.has(block.type))) {
    throw invalidAt(path, "`system` messages can only have `text` blocks");
  }
  if (before?.role !== "user") throw invalidAt(path, "`system` messages must come after a `user` message");
}

/**
 * Checks that each result answers one call of the assistant's turn directly before it, and that no two results answer
 * the same call.
 */
function checkResults({ blocks }: ConversationTurn, before: ConversationTurn | undefined): void {
  const called = callIdsIn(before);
  const answered = new Set<string>();
  for (const { block, path } of blocks) {
    if (block.type !== "tool_result") continue;
    const id = block.tool_use_id;
    if (!called.includes(id)) {
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

/** Checks that each call has its result at the beginning of the turn directly after it. */
function checkCalls(turns: readonly ConversationTurn[]): void {
  const all = turns.flatMap((turn) => callIdsIn(turn));
  if (new Set(all).size < all.length) throw invalidRequest("messages: `tool_use` ids must be unique");
  for (const [index, turn] of turns.entries()) {
    const answered = firstResultIds(turns[index + 1]);
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
  return blocks.flatMap(({ block }) => (block.type === "tool_use" ? [block.id] : []));
}

/** Returns the ids of the calls that the results at the beginning of a turn answer. */
function firstResultIds(turn: ConversationTurn | undefined): string[] {
  if (turn === undefined || !hasResults(turn)) return [];
  const end = turn.blocks.findIndex(({ block }) => block.type !== "tool_result");
  const results = turn.blocks.slice(0, end === -1 ? undefined : end);
  return results.map(({ block }) => (block as ToolResultBlockParam).tool_use_id);
}

/** Checks that results of hosted tools are in the assistant's turn after their calls, and unchanged. */
function checkServerTools({ blocks }: ConversationTurn): void {
  const called = new Set<string>();
  for (const { block, path } of blocks) {
    if (block.type === "server_tool_use") called.add(block.id);
    if (block.type !== "web_search_tool_result") continue;
    const id = block.tool_use_id;
    if (!called.delete(id)) {
      throw invalidAt(
        path,
        `unexpected \`tool_use_id\` found in \`${block.type}\` blocks: ${id}. Each \`${block.type}\` block must have a corresponding \`server_tool_use\` block before it.`,
      );
    }
    checkSources(block.content, path);
  }
}

function checkSources(content: WebSearchToolResultBlockParam["content"], path: string): void {
  if (!Array.isArray(content)) return;
  content.forEach(({ encrypted_content: source }, index) => {
    if (isEncryptedSource(source)) return;
    throw invalidAt(`${path}.content.${index}`, "Invalid `encrypted_content` in `web_search_result` block");
  });
}
