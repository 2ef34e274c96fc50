import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Call, CallObserver } from "./call-observer.ts";

/** Returns memory to the system after a load. Probes do not count: a sidecar that is only probed is idle. */
export interface IdleMemory extends CallObserver {
  begin(call: Call): void;
  /** Stops all further collections. */
  stop(): void;
}

/** The inputs of the collections, which tests replace. */
export interface IdleMemoryOptions {
  /** Collects garbage and returns free pages to the system. */
  readonly collect?: () => void;
  /** Returns the resident memory of the process in bytes. */
  readonly readResidentBytes?: () => number;
  /** Returns the share of the time since its last call in which the event loop was busy, from 0 to 1. */
  readonly readBusyShare?: () => number;
}

/** How long the event loop must have been almost idle, in milliseconds. */
export const QUIET_MS = 3000;

/** Number of calls that must arrive or end before another collection is worthwhile, if there are always open calls. */
export const MIN_CHANGES = 200;

/**
 * Growth of the resident memory that makes a collection worthwhile. The heap's size would not do: V8 keeps the pages
 * that its ordinary collections emptied in a pool, which its statistics do not count.
 */
export const MIN_GROWTH_BYTES = 16 * 1024 * 1024;

/** Busy share up to which the event loop counts as idle: it may handle pings, probes, or a stream of a few tokens. */
const MAX_QUIET_SHARE = 0.02;

/**
 * Watches a server and collects garbage when it becomes idle, the first time after its start. V8 collects garbage when
 * something is allocated, and it returns the emptied pages minutes later, or never: a process that becomes idle, or
 * whose clients all stop reading, keeps the memory of its last load for hours. One collection while it is idle returns
 * that memory at once.
 */
export function createIdleMemory({
  collect = collectGarbage,
  readResidentBytes = () => process.memoryUsage.rss(),
  readBusyShare = createBusyShare(),
}: IdleMemoryOptions = {}): IdleMemory {
  let openCalls = 0;
  /** Calls that arrived or ended since the last collection, and since the last check. */
  let changes = 0;
  let recentChanges = 0;
  /** Resident memory after the last collection, and after the last one at rest. 0 before the first. */
  let keptBytes = 0;
  let restBytes = 0;
  let isWatching = true;
  let isStopped = false;
  /** Whether no call is open, and none ended so recently that its memory may still be in use. */
  const isAtRest = () => openCalls === 0 && recentChanges === 0;
  /** Whether a collection would return much memory. */
  const isWorthwhile = () => {
    const residentBytes = readResidentBytes();
    if (residentBytes < restBytes + MIN_GROWTH_BYTES) return false;
    // The data of calls that were open at the last collection is garbage when they have ended.
    return isAtRest() || changes >= MIN_CHANGES || residentBytes >= keptBytes + MIN_GROWTH_BYTES;
  };
  const look = () => {
    const isQuiet = readBusyShare() <= MAX_QUIET_SHARE;
    if (isQuiet && isWorthwhile()) {
      collect();
      changes = 0;
      keptBytes = readResidentBytes();
      if (isAtRest()) restBytes = keptBytes;
    }
    // Watching ends after an interval without calls in which the event loop was quiet.
    isWatching = recentChanges > 0 || !isQuiet;
    recentChanges = 0;
    if (isWatching) timer.refresh();
  };
  // The start leaves some 9 MB of garbage: the inputs from which the server was built, and a grown young generation.
  const timer = setTimeout(look, QUIET_MS).unref();
  const count = (opened: 1 | -1, { isProbe }: Call) => {
    if (isProbe) return;
    openCalls += opened;
    changes += 1;
    recentChanges += 1;
    if (isWatching || isStopped) return;
    isWatching = true;
    readBusyShare();
    timer.refresh();
  };
  return {
    begin: count.bind(undefined, 1),
    end: count.bind(undefined, -1),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

function createBusyShare(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const { utilization } = performance.eventLoopUtilization(last);
    last = performance.eventLoopUtilization();
    return utilization;
  };
}

type Gc = (options: { type: "major"; flavor: "last-resort" }) => void;

/**
 * Collects all garbage. Node offers that only with this flag, which takes effect in new contexts, and only the
 * last-resort flavor returns the pages of V8's pool. It marks the heap at least twice, which takes 40 to 90 ms after
 * most loads; 0.2 s if it returns 400 MB, and another 0.2 s for each 100 MB in use. Nothing else is as fast: V8's
 * memory reducer, which works in steps, may take minutes to start.
 */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const gc: Gc = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  gc({ type: "major", flavor: "last-resort" });
}
