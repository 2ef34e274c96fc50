import type { CacheBreakpoint, Caching } from "../script/prompt.ts";
import { invalidAt, invalidRequest } from "./problem.ts";
import type { PromptSegment } from "./prompt-segments.ts";
import type { CacheControl, CreateRequest } from "./wire.ts";

/** Most cache marks of one request. */
const mostMarks = 4;

/** Least tokens of a prompt's beginning that is cached. */
const minimumTokens = 1024;

interface PlacedMark {
  readonly segment: number;
  readonly path: string;
  readonly mark: CacheControl;
}

/**
 * Reads where a request wants its prompt cached: at its marks, and with `cache_control` at the top also at its end. Throws
 * the problem that Anthropic would find: more than four marks, or a long one behind a short one.
 */
export function readCaching(
  { cache_control: automatic }: CreateRequest,
  segments: readonly PromptSegment[],
): Caching {
  const marks = [...explicitMarks(segments), ...automaticMark(automatic ?? undefined, segments)];
  if (marks.length > mostMarks) {
    throw invalidRequest(
      `A maximum of ${mostMarks} blocks with cache_control may be provided. Found ${marks.length}.`,
    );
  }
  checkOrder(marks);
  return { kind: "breakpoints", minimumTokens, breakpoints: marks.map(toBreakpoint) };
}

function explicitMarks(segments: readonly PromptSegment[]): PlacedMark[] {
  return segments.flatMap(({ mark, path }, segment) => (mark === undefined ? [] : [{ segment, path, mark }]));
}

/** Automatic caching marks the last block that can be, unless it is marked already. */
function automaticMark(mark: CacheControl | undefined, segments: readonly PromptSegment[]): PlacedMark[] {
  const segment = segments.findLastIndex(({ cacheable }) => cacheable);
  const last = segments[segment];
  if (mark === undefined || last === undefined || last.mark !== undefined) return [];
  return [{ segment, path: "cache_control", mark }];
}

function checkOrder(marks: readonly PlacedMark[]): void {
  const firstShort = marks.findIndex((each) => !isLong(each.mark));
  const late = marks.find((each, index) => firstShort !== -1 && index > firstShort && isLong(each.mark));
  if (late === undefined) return;
  throw invalidAt(
    `${late.path}.cache_control.ttl`,
    "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
  );
}

function toBreakpoint({ segment, mark }: PlacedMark): CacheBreakpoint {
  return { segment, long: isLong(mark) };
}

function isLong({ ttl }: CacheControl): boolean {
  return ttl === "1h";
}
