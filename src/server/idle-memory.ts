import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Gives memory back to the system when a load is over. */
export interface IdleMemory {
  /** A call has arrived. */
  begin(): void;
  /** A call has ended. */
  end(): void;
  /** No more collections. */
  stop(): void;
}

/** How long nothing must have happened, in milliseconds. */
export const QUIET_MS = 3000;

/** Calls after which there is something to give back. */
export const MIN_CALLS = 100;

/**
 * V8 collects when something is allocated: a process that falls idle keeps what its last load
 * took, for hours. One collection when the load is over lets go of it, and wakes V8's own memory
 * reducer, which returns the pages some seconds later. It takes some 30 ms, in which nobody waits.
 */
export function createIdleMemory(collect: () => void = collectGarbage): IdleMemory {
  let inflight = 0;
  let calls = 0;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const onQuiet = () => {
    if (inflight > 0 || calls < MIN_CALLS) return;
    calls = 0;
    collect();
  };
  return {
    begin() {
      inflight += 1;
    },
    end() {
      inflight -= 1;
      calls += 1;
      if (inflight > 0 || stopped) return;
      if (timer === undefined) timer = setTimeout(onQuiet, QUIET_MS).unref();
      else timer.refresh();
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** Node has no other way to ask for a collection than the flag, which takes effect in new contexts. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const gc: (options: { type: "major" }) => void = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  gc({ type: "major" });
}
