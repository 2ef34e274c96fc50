import type { CacheControl, ContentBlockParam, Tool } from "../../src/wire/anthropic-messages/request.ts";
import type { CreateRequest } from "./create-request.ts";
import { readBlock } from "./read-content.ts";
import { type ConversationTurn, getBlocks } from "./turns.ts";

/** A part of the prompt after which a cache entry may end: a tool, or a block. */
export interface PromptSegment {
  readonly text: string;
  /** Path such as `messages.0.content.1`. */
  readonly path: string;
  /** Its cache breakpoint; undefined if it has none. */
  readonly control: CacheControl | undefined;
  /** Whether it can have a breakpoint. */
  readonly cacheable: boolean;
}

/**
 * Splits a prompt in the order in which it is cached: tools, instructions, messages. The settings that affect how
 * messages are read come before the messages, so that changing these settings invalidates the cache of the messages
 * alone.
 */
export function splitSegments(
  request: CreateRequest,
  turns: readonly ConversationTurn[],
): readonly PromptSegment[] {
  const { tools, system, tool_choice: choice, thinking, output_config: output } = request;
  const settings = JSON.stringify([choice ?? null, thinking ?? null, output?.format ?? null]);
  return [
    ...(tools ?? []).map((tool, index) =>
      segment(JSON.stringify({ ...tool, cache_control: undefined }), `tools.${index}`, getCacheControl(tool)),
    ),
    ...getBlocks(system).map((block, index) =>
      segment(`system: ${readBlock(block).text}`, `system.${index}`, getCacheControl(block)),
    ),
    { text: settings, path: "", control: undefined, cacheable: false },
    ...turns.flatMap(({ role, blocks }) =>
      blocks.map(({ block, path }) => ({
        ...segment(`${role}: ${describe(block)}`, path, getInnerCacheControl(block)),
        cacheable: !block.type.endsWith("thinking"),
      })),
    ),
  ];
}

function segment(text: string, path: string, control: CacheControl | undefined): PromptSegment {
  return { text, path, control, cacheable: true };
}

function getCacheControl(block: ContentBlockParam | Tool): CacheControl | undefined {
  return "cache_control" in block ? (block.cache_control ?? undefined) : undefined;
}

/** Returns the breakpoint of a block, or of a block inside it. */
function getInnerCacheControl(block: ContentBlockParam): CacheControl | undefined {
  const inner = "content" in block ? getBlocks(block.content) : [];
  return [block, ...inner].map(getCacheControl).find((control) => control !== undefined);
}

/** Describes a block as the model reads it. */
function describe(block: ContentBlockParam): string {
  switch (block.type) {
    case "tool_use":
      return `call ${block.id} ${block.name}: ${JSON.stringify(block.input)}`;
    case "tool_result":
      return `result ${block.tool_use_id}: ${readBlock(block).text}`;
    case "text":
    case "image":
    case "document":
      return readBlock(block).text;
    default:
      return JSON.stringify({ ...block, cache_control: undefined });
  }
}
