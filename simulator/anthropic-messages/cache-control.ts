import { type CacheControl, MAX_CACHE_BREAKPOINTS } from "../../src/wire/anthropic-messages/request.ts";
import type { CacheBreakpoint, Caching } from "../script/prompt.ts";
import type { CreateRequest } from "./create-request.ts";
import { invalidAt, invalidRequest } from "./problem.ts";
import type { PromptSegment } from "./prompt-segments.ts";

/** Minimum number of tokens of a cached prefix. */
const minimumTokens = 1024;

interface Breakpoint {
  readonly segment: number;
  readonly path: string;
  readonly control: CacheControl;
}

/**
 * Reads the positions up to which a request wants its prompt cached: its breakpoints and, with `cache_control` at the
 * top, also its end. Throws the problem that Anthropic would find: more than four breakpoints, or a breakpoint of an
 * hour after a shorter one.
 */
export function readCaching(
  { cache_control: automatic }: CreateRequest,
  segments: readonly PromptSegment[],
): Caching {
  const breakpoints = [
    ...explicitBreakpoints(segments),
    ...automaticBreakpoint(automatic ?? undefined, segments),
  ];
  if (breakpoints.length > MAX_CACHE_BREAKPOINTS) {
    throw invalidRequest(
      `A maximum of ${MAX_CACHE_BREAKPOINTS} blocks with cache_control may be provided. Found ${breakpoints.length}.`,
    );
  }
  checkOrder(breakpoints);
  return { kind: "breakpoints", minimumTokens, breakpoints: breakpoints.map(toCacheBreakpoint) };
}

function explicitBreakpoints(segments: readonly PromptSegment[]): Breakpoint[] {
  return segments.flatMap(({ control, path }, segment) =>
    control === undefined ? [] : [{ segment, path, control }],
  );
}

/** Automatic caching adds a breakpoint to the last block that can have one, unless the block has one already. */
function automaticBreakpoint(
  control: CacheControl | undefined,
  segments: readonly PromptSegment[],
): Breakpoint[] {
  const segment = segments.findLastIndex(({ cacheable }) => cacheable);
  const last = segments[segment];
  if (control === undefined || last === undefined || last.control !== undefined) return [];
  return [{ segment, path: "cache_control", control }];
}

function checkOrder(breakpoints: readonly Breakpoint[]): void {
  const firstShort = breakpoints.findIndex((each) => !isLong(each.control));
  const late = breakpoints.find((each, index) => {
    return firstShort !== -1 && index > firstShort && isLong(each.control);
  });
  if (late === undefined) return;
  throw invalidAt(
    `${late.path}.cache_control.ttl`,
    "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
  );
}

function toCacheBreakpoint({ segment, control }: Breakpoint): CacheBreakpoint {
  return { segment, long: isLong(control) };
}

function isLong({ ttl }: CacheControl): boolean {
  return ttl === "1h";
}
