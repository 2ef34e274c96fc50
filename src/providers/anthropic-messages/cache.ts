/**
 * Sets the breakpoints of the provider's prompt cache (provider documentation: "Prompt caching"). A breakpoint caches
 * everything up to its block; it does not change the content.
 */
import { asObject, objectIn, objectsIn } from "../../kit/json/json.ts";
import { getSourceText } from "../../kit/json/json-source.ts";
import {
  type CacheableBlock,
  type CacheControl,
  MAX_CACHE_BREAKPOINTS,
  type MessageCreateParams,
  type MessageParam,
} from "../../wire/anthropic-messages/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

type Block = Untrusted<CacheableBlock>;
type Body = Untrusted<MessageCreateParams>;

/**
 * Sets breakpoints on the last block of the last two user turns, the last system block and the last tool, as many as
 * the caller's breakpoints leave of the allowed number. The last user turn comes first, since its cached prefix
 * includes the rest. The caller's breakpoints are kept.
 */
export function withBreakpoints(body: Body): Body {
  const blocks = blocksInCacheOrder(body);
  const used = blocks.reduce((sum, block) => sum + countBreakpoints(block), countBreakpoints(body));
  const chosen = listCandidates(body).slice(0, Math.max(0, MAX_CACHE_BREAKPOINTS - used));
  const replacements = new Map<object, Block>(
    chosen.map((block) => [block, withBreakpoint(block, blocks, body)]),
  );
  return {
    ...body,
    ...(body.tools === undefined ? {} : { tools: replaceBlock(body.tools, replacements) }),
    ...(body.system === undefined ? {} : { system: replaceBlock(body.system, replacements) }),
    messages: objectsIn<MessageParam>(body.messages).map((message) => ({
      ...message,
      content: replaceBlock(message.content, replacements),
    })),
  };
}

/** Returns all blocks of a request in the order in which the cache reads them. */
function blocksInCacheOrder({ tools, system, messages }: Body): readonly Block[] {
  const content = objectsIn<MessageParam>(messages).flatMap((message) =>
    objectsIn<CacheableBlock>(message.content),
  );
  return [...objectsIn<CacheableBlock>(tools), ...objectsIn<CacheableBlock>(system), ...content];
}

/** Returns the blocks to put a breakpoint on, in order of preference. */
function listCandidates(body: Body): readonly Block[] {
  const turns = objectsIn<MessageParam>(body.messages).filter(({ role }) => role === "user");
  const [last, previous] = turns.slice(-2).reverse();
  const candidates = [
    // The API sets a breakpoint on the last block itself if the request has `cache_control`.
    body.cache_control === undefined ? getLastBlock(last?.content) : undefined,
    getLastBlock(body.system),
    objectsIn<CacheableBlock>(body.tools).findLast(({ defer_loading: deferred }) => deferred !== true),
    getLastBlock(previous?.content),
  ];
  return candidates.filter((block) => block !== undefined).filter(acceptsBreakpoint);
}

function getLastBlock(blocks: unknown): Block | undefined {
  return objectsIn<CacheableBlock>(blocks).at(-1);
}

function acceptsBreakpoint(block: Block): boolean {
  return block.cache_control === undefined && getSourceText(block) === undefined && block.text !== "";
}

/** A one-hour breakpoint cannot follow a shorter one, so a block before a one-hour breakpoint also gets one hour. */
function withBreakpoint(block: Block, blocks: readonly Block[], body: Body): Block {
  const later = [...blocks.slice(blocks.indexOf(block) + 1), body];
  const isHour = later.some((each) => objectIn<CacheControl>(each.cache_control).ttl === "1h");
  const control: CacheControl = { type: "ephemeral", ...(isHour ? { ttl: "1h" } : {}) };
  return { ...block, cache_control: control };
}

/** Returns a list of blocks with some of these replaced; anything else is returned unchanged. */
function replaceBlock(blocks: unknown, replacements: ReadonlyMap<object, Block>): unknown {
  if (!Array.isArray(blocks)) return blocks;
  return blocks.map((block: unknown) => replacements.get(asObject(block) ?? {}) ?? block);
}

/** Counts the breakpoints on a block and on the blocks inside it. */
function countBreakpoints(block: Block): number {
  const onBlock = asObject(block.cache_control) === undefined ? 0 : 1;
  const inSource = getSourceText(block)?.includes('"cache_control"') === true ? 1 : 0;
  const inner = [block.content, objectIn<{ content: unknown }>(block.source).content].flatMap((content) =>
    objectsIn<CacheableBlock>(content),
  );
  return inner.reduce((sum, each) => sum + countBreakpoints(each), onBlock + inSource);
}
