/** Measures how long the event loop of this thread is held by one piece of work. */
import { openSync, readSync } from "node:fs";
import { measureSlowness } from "./slowness.ts";

/** One time that the loop was held too long. Times are in milliseconds. */
export interface Hold {
  /** Time from when a timer was due until it fired. */
  readonly delayMs: number;
  /** The part of the delay in which the thread computed. */
  readonly computedMs: number;
  /** The part in which it waited for a core, since other threads ran on all cores. */
  readonly waitedMs: number;
  /** The part in which it neither computed nor waited for a core: for a disk or for another thread. */
  readonly blockedMs: number;
}

/** A running watch. */
export interface LoopWatch {
  /** Runs synchronous work of a test that does not count. */
  uncounted<Result>(work: () => Result): Result;
  /** Returns the holds so far, with one that has not ended yet, and forgets them. */
  take(): Hold[];
  close(): void;
}

/**
 * Longest computation on a machine that is idle otherwise, in milliseconds; more on a machine that is slower at the
 * moment. The design allows 50 ms for a call of usual size; the rest is for values of many megabytes, which are parsed
 * in one piece. While the thread waits for a core, work arrives that it then does in one turn of the loop: as much time
 * as it waited is allowed in addition.
 */
const MAX_COMPUTED_MS = 250;

/** Longest synchronous wait, in milliseconds. A write to a disk that others keep busy takes that long. */
const MAX_BLOCKED_MS = 2000;

const INTERVAL_MS = 10;

// Taken before a test can replace them by fake ones.
const { setTimeout, clearTimeout } = globalThis;
const monotonicNs = process.hrtime.bigint.bind(process.hrtime);

/** The clocks of a watch. */
export interface WatchClocks {
  /** Reads the times of this thread. */
  readonly readTimes: () => ThreadTimes;
  /** Measures how many times slower than a machine without other work this one computes at the moment. At least 1. */
  readonly measureSlowness: () => number;
}

/** Calls `onHold` for each hold that is too long. Keeps neither the process nor a test alive. */
export function watchLoop(onHold?: (hold: Hold) => void, clocks: Partial<WatchClocks> = {}): LoopWatch {
  const readTimes = clocks.readTimes ?? openThreadTimes();
  const getSlowness = clocks.measureSlowness ?? measureSlowness;
  let holds: Hold[] = [];
  let last = readTimes();
  let uncounted = NO_TIMES;

  const measure = (): void => {
    const now = readTimes();
    const hold = toHold(subtract(subtract(now, last), uncounted));
    last = now;
    uncounted = NO_TIMES;
    if (hold.computedMs <= MAX_COMPUTED_MS + hold.waitedMs && hold.blockedMs <= MAX_BLOCKED_MS) return;
    const slowness = getSlowness();
    last = readTimes();
    if (hold.computedMs <= MAX_COMPUTED_MS * slowness + hold.waitedMs && hold.blockedMs <= MAX_BLOCKED_MS)
      return;
    holds.push(hold);
    onHold?.(hold);
  };
  const tick = (): void => {
    measure();
    timer = setTimeout(tick, INTERVAL_MS).unref();
  };
  let timer = setTimeout(tick, INTERVAL_MS).unref();

  return {
    uncounted(work) {
      const before = readTimes();
      try {
        return work();
      } finally {
        uncounted = add(uncounted, subtract(readTimes(), before));
      }
    },
    take() {
      measure();
      const taken = holds;
      holds = [];
      return taken;
    },
    close: () => clearTimeout(timer),
  };
}

/** Sums since some moment, in milliseconds. */
export interface ThreadTimes {
  readonly elapsedMs: number;
  readonly computedMs: number;
  /** Time in which the thread was ready to run, while others ran on all cores. */
  readonly waitedMs: number;
}

const NO_TIMES: ThreadTimes = { elapsedMs: 0, computedMs: 0, waitedMs: 0 };

function add(a: ThreadTimes, b: ThreadTimes): ThreadTimes {
  return {
    elapsedMs: a.elapsedMs + b.elapsedMs,
    computedMs: a.computedMs + b.computedMs,
    waitedMs: a.waitedMs + b.waitedMs,
  };
}

function subtract(a: ThreadTimes, b: ThreadTimes): ThreadTimes {
  return {
    elapsedMs: a.elapsedMs - b.elapsedMs,
    computedMs: a.computedMs - b.computedMs,
    waitedMs: a.waitedMs - b.waitedMs,
  };
}

/** A thread that computes for the length of an interval did not hold the loop: it may have done many small things. */
function toHold({ elapsedMs, computedMs, waitedMs }: ThreadTimes): Hold {
  const delayMs = Math.max(0, elapsedMs - INTERVAL_MS);
  return {
    delayMs,
    computedMs: Math.min(computedMs, delayMs),
    waitedMs,
    blockedMs: Math.max(0, delayMs - computedMs - waitedMs),
  };
}

/**
 * Opens the scheduler's statistics of this thread (proc(5), schedstat). Other systems do not tell how long a thread
 * waited for a core: there, waiting of any kind counts as that.
 */
function openThreadTimes(): () => ThreadTimes {
  const file = openSchedstat();
  if (file === undefined) {
    return () => {
      const { user, system } = process.threadCpuUsage();
      const elapsedMs = Number(monotonicNs()) / 1e6;
      const computedMs = (user + system) / 1e3;
      return { elapsedMs, computedMs, waitedMs: elapsedMs - computedMs };
    };
  }
  const buffer = Buffer.alloc(64);
  return () => {
    const length = readSync(file, buffer, 0, buffer.byteLength, 0);
    const [computedNs, waitedNs] = buffer.toString("latin1", 0, length).split(" ");
    return {
      elapsedMs: Number(monotonicNs()) / 1e6,
      computedMs: Number(computedNs) / 1e6,
      waitedMs: Number(waitedNs) / 1e6,
    };
  };
}

function openSchedstat(): number | undefined {
  try {
    return openSync("/proc/thread-self/schedstat", "r");
  } catch {
    return undefined;
  }
}
