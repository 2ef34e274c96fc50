import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Call } from "./call.ts";
import type { CallObserver } from "./call-observer.ts";
import { isProbe } from "./logging.ts";

/** Returns memory to the system when a load is over. Probes are no load: a sidecar that is only probed is idle. */
export interface IdleMemory extends CallObserver {
  /** Stops all further collections. */
  stop(): void;
}

/** What the collections depend on. */
export interface IdleMemoryOptions {
  /** Collects garbage. */
  readonly collect?: () => void;
  /** Bytes that JavaScript holds, garbage included. */
  readonly readHeldBytes?: () => number;
  /** The share of the time since its last call in which the event loop was busy, from 0 to 1. */
  readonly readBusyShare?: () => number;
}

/** How long the event loop must have been almost idle, in milliseconds. */
export const QUIET_MS = 3000;

/** Calls that arrived or ended, after which a collection is worth its time. */
export const MIN_CHANGES = 200;

/** Bytes held since the last collection, after which another one is worth its time, however few calls there were. */
export const MIN_GROWTH_BYTES = 16 * 1024 * 1024;

/** Busy share of the event loop up to which the process counts as idle: pings, probes, a stream of a few tokens. */
const MAX_QUIET_SHARE = 0.02;

/**
 * V8 collects garbage when something is allocated: a process that becomes idle, or whose clients all stop reading,
 * keeps the memory of its last load for hours. One collection while it is idle frees that memory and wakes V8's memory
 * reducer, which returns the pages some seconds later. It takes about 30 ms.
 */
export function createIdleMemory({
  collect = collectGarbage,
  readHeldBytes = heldBytes,
  readBusyShare = createBusyShare(),
}: IdleMemoryOptions = {}): IdleMemory {
  let changes = 0;
  let keptBytes = readHeldBytes();
  let isWatching = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  const onTimer = () => {
    if (readBusyShare() > MAX_QUIET_SHARE) {
      timer?.refresh();
      return;
    }
    isWatching = false;
    if (changes < MIN_CHANGES && readHeldBytes() < keptBytes + MIN_GROWTH_BYTES) return;
    changes = 0;
    collect();
    keptBytes = readHeldBytes();
  };
  const countCall = ({ rpc }: Call) => {
    if (isProbe(rpc)) return;
    changes += 1;
    if (isWatching || isStopped) return;
    isWatching = true;
    readBusyShare();
    if (timer === undefined) timer = setTimeout(onTimer, QUIET_MS).unref();
    else timer.refresh();
  };
  return {
    begin: countCall,
    end: countCall,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Objects, and the buffers outside of V8's heap, which requests are made of. */
function heldBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function createBusyShare(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const { utilization } = performance.eventLoopUtilization(last);
    last = performance.eventLoopUtilization();
    return utilization;
  };
}

/** Node exposes a collection only by this flag, which takes effect in new contexts. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const gc: (options: { type: "major" }) => void = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  gc({ type: "major" });
}
