import { readBlock } from "./read-content.ts";
import { blocksOf, type ConversationTurn } from "./turns.ts";
import type { CacheControl, CreateRequest, InputBlock } from "./wire.ts";

/** A stretch of the prompt after which the cache may end: a tool, or a block. */
export interface PromptSegment {
  readonly text: string;
  /** Path such as `messages.0.content.1`. */
  readonly path: string;
  /** The cache mark on it; undefined where it has none. */
  readonly mark: CacheControl | undefined;
  /** Whether a mark may stand on it. */
  readonly cacheable: boolean;
}

/**
 * Takes a prompt apart in the order in which it is cached: tools, instructions, messages. What decides how messages are
 * read stands before them, so that changing it spoils their cache and no other.
 */
export function segmentsOf(
  request: CreateRequest,
  turns: readonly ConversationTurn[],
): readonly PromptSegment[] {
  const { tools, system, tool_choice: choice, thinking, output_config: output } = request;
  const settings = JSON.stringify([choice ?? null, thinking ?? null, output?.format ?? null]);
  return [
    ...(tools ?? []).map((tool, index) =>
      segment(JSON.stringify({ ...tool, cache_control: undefined }), `tools.${index}`, tool.cache_control),
    ),
    ...blocksOf(system).map((block, index) =>
      segment(`system: ${block.text}`, `system.${index}`, block.cache_control),
    ),
    { text: settings, path: "", mark: undefined, cacheable: false },
    ...turns.flatMap(({ role, blocks }) =>
      blocks.map(({ block, path }) => ({
        ...segment(`${role}: ${describe(block)}`, path, markOf(block)),
        cacheable: !block.type.endsWith("thinking"),
      })),
    ),
  ];
}

function segment(text: string, path: string, mark: CacheControl | null | undefined): PromptSegment {
  return { text, path, mark: mark ?? undefined, cacheable: true };
}

/** The mark on a block, or on one within it. */
function markOf(block: InputBlock): CacheControl | undefined {
  const marks = [block, ...blocksOf(block.content)].map((each) => each.cache_control ?? undefined);
  return marks.find((mark) => mark !== undefined);
}

/** A block as the model reads it. */
function describe(block: InputBlock): string {
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
