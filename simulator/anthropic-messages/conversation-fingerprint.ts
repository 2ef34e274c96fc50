import { createHash } from "node:crypto";
import type { ContentBlockParam, MessageRole } from "../../src/wire/anthropic-messages/request.ts";
import type { CreateRequest } from "./create-request.ts";
import type { SentBlock } from "./sent-block.ts";
import { getBlocks } from "./turns.ts";

/**
 * The fingerprint of a conversation up to some block: of tools, instructions, and all messages so far. Later changes
 * that a caller may make (cache breakpoints, citations, the division of texts into messages) do not count.
 */
export interface ConversationFingerprint {
  readonly value: string;
  /** Returns the fingerprint with one more block. */
  with(role: MessageRole, block: ContentBlockParam | SentBlock): ConversationFingerprint;
}

/** Starts the fingerprint of a request's conversation, before its first message. */
export function beginFingerprint({ system, tools }: CreateRequest): ConversationFingerprint {
  return createFingerprint(digest("", [withoutCacheControl(tools ?? []), getBlocks(system).map(getContent)]));
}

function createFingerprint(value: string): ConversationFingerprint {
  return { value, with: (role, block) => createFingerprint(digest(value, [role, getContent(block)])) };
}

/** Returns the content of a block that counts. */
function getContent(block: ContentBlockParam | SentBlock): unknown {
  switch (block.type) {
    case "text":
      return block.text;
    case "tool_use":
      return [block.id, block.name, block.input];
    case "tool_result":
      return [block.tool_use_id, getBlocks(block.content).map(getContent)];
    default:
      return withoutCacheControl(block);
  }
}

function withoutCacheControl(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, each) => (key === "cache_control" ? undefined : each)));
}

function digest(before: string, value: unknown): string {
  return createHash("sha256").update(before).update(JSON.stringify(value)).digest("base64");
}
