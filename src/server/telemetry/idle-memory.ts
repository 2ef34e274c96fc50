import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Gives memory back to the system when a load is over. */
export interface IdleMemory {
  /** A call has arrived or ended. */
  note(): void;
  /** No more collections. */
  stop(): void;
}

/** What the collections depend on. */
export interface IdleMemoryOptions {
  /** Collects garbage. */
  readonly collect?: () => void;
  /** The share of the time since its last call in which the event loop was busy, from 0 to 1. */
  readonly readBusyShare?: () => number;
}

/** How long next to nothing must have happened, in milliseconds. */
export const QUIET_MS = 3000;

/** Arrivals and ends after which there is something to give back. */
export const MIN_NOTES = 200;

/** Up to this share of the time nothing happens that matters: pings, probes, a stream of a few tokens. */
const MAX_QUIET_SHARE = 0.02;

/**
 * V8 collects when something is allocated: a process that falls idle, or whose callers all stop
 * reading, keeps what its last load took, for hours. One collection when it is quiet lets go of
 * that, and wakes V8's own memory reducer, which returns the pages some seconds later. It takes
 * some 30 ms, in which nearly nobody waits.
 */
export function createIdleMemory({
  collect = collectGarbage,
  readBusyShare = createBusyShare(),
}: IdleMemoryOptions = {}): IdleMemory {
  let notes = 0;
  let isWatching = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  const onTimer = () => {
    if (readBusyShare() > MAX_QUIET_SHARE) {
      timer?.refresh();
      return;
    }
    isWatching = false;
    if (notes < MIN_NOTES) return;
    notes = 0;
    collect();
  };
  return {
    note() {
      notes += 1;
      if (isWatching || isStopped) return;
      isWatching = true;
      readBusyShare();
      if (timer === undefined) timer = setTimeout(onTimer, QUIET_MS).unref();
      else timer.refresh();
    },
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

/** Node has no other way to ask for a collection than the flag, which takes effect in new contexts. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const gc: (options: { type: "major" }) => void = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  gc({ type: "major" });
}
