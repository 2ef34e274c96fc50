/**
 * Where the provider's prompt cache begins and ends (provider documentation: "Prompt caching").
 * A marker says that everything up to its block is worth keeping; it changes no content.
 */
import { asObject, type JsonObject, type JsonValue, objectsIn } from "../../kit/json/json.ts";
import { sourceTextOf } from "../../kit/json/json-source.ts";
import type { Block } from "./wire.ts";

/** Markers that the API takes in one request, the caller's own among them. */
const MOST_MARKERS = 4;

/**
 * Places markers on the last tool, the last system block and the last block of the last two
 * user turns, as far as the caller left room; the user turns first, since what is kept up to
 * them holds the rest too. The caller's own markers stay.
 */
export function withBreakpoints(body: JsonObject): JsonObject {
  const places = placesIn(body);
  const room = MOST_MARKERS - places.reduce((sum, place) => sum + markersIn(place), markersIn(body));
  const chosen = candidatesIn(body).slice(0, Math.max(0, room));
  const marked = new Map(chosen.map((block) => [block, markerFor(block, places, body)]));
  const mark = (blocks: JsonValue | undefined) => markBlocks(blocks, marked);
  return {
    ...body,
    ...(body.tools === undefined ? {} : { tools: mark(body.tools) }),
    ...(body.system === undefined ? {} : { system: mark(body.system) }),
    messages: objectsIn(body.messages).map((message) => ({ ...message, content: mark(message.content) })),
  };
}

/** All blocks of a request in the order in which the cache sees them. */
function placesIn({ tools, system, messages }: JsonObject): readonly Block[] {
  const spoken = objectsIn(messages).flatMap(({ content }) => objectsIn(content));
  return [...objectsIn(tools), ...objectsIn(system), ...spoken];
}

/** The blocks that are worth a marker, the most worthy first. */
function candidatesIn(body: JsonObject): readonly Block[] {
  const turns = objectsIn(body.messages).filter(({ role }) => role === "user");
  const [last, before] = turns.slice(-2).reverse();
  // The API itself marks the last block where the whole request has a marker.
  const candidates = [
    body.cache_control === undefined ? lastOf(last?.content) : undefined,
    lastOf(body.system),
    objectsIn(body.tools).findLast(({ defer_loading: deferred }) => deferred !== true),
    lastOf(before?.content),
  ];
  return candidates.filter((block) => block !== undefined).filter(canBeMarked);
}

function lastOf(blocks: JsonValue | undefined): Block | undefined {
  return objectsIn(blocks).at(-1);
}

function canBeMarked(block: Block): boolean {
  return block.cache_control === undefined && sourceTextOf(block) === undefined && block.text !== "";
}

/** A marker that keeps for an hour may not come after one that keeps for less, so ours follow the caller's. */
function markerFor(block: Block, places: readonly Block[], body: JsonObject): Block {
  const behind = [...places.slice(places.indexOf(block) + 1), { cache_control: body.cache_control }];
  const keepsLong = behind.some((place) => asObject(place.cache_control)?.ttl === "1h");
  return { ...block, cache_control: { type: "ephemeral", ...(keepsLong ? { ttl: "1h" } : {}) } };
}

function markBlocks(blocks: JsonValue | undefined, marked: ReadonlyMap<Block, Block>): JsonValue | undefined {
  if (!Array.isArray(blocks)) return blocks;
  return blocks.map((block: JsonValue) => marked.get(asObject(block) ?? {}) ?? block);
}

/** Markers on a block and on the blocks inside it. */
function markersIn(place: JsonObject): number {
  const own = asObject(place.cache_control) === undefined ? 0 : 1;
  const spelled = sourceTextOf(place)?.includes('"cache_control"') === true ? 1 : 0;
  const inside = [...objectsIn(place.content), ...objectsIn(asObject(place.source)?.content)];
  return inside.reduce((sum, block) => sum + markersIn(block), own + spelled);
}
