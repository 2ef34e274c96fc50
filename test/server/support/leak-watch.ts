/** Finds leaks of a server: sockets and listeners of the process, and timers that our code set. */
import { setImmediate } from "node:timers/promises";

/** A watch over the resources that a test leaves open. */
export interface LeakWatch {
  /**
   * Waits until everything that is about to close has closed. Returns what was not there at the start; empty if nothing
   * leaked.
   */
  remains(): Promise<string[]>;
}

/** Starts to watch. Ignores timers that were set before. */
export function watchForLeaks(): LeakWatch {
  const before = openHandles();
  timers.clear();
  const current = () => [...added(before, openHandles()), ...timers.values()];
  return {
    async remains() {
      const deadline = performance.now() + PATIENCE_MS;
      while (current().length > 0 && performance.now() < deadline) await setImmediate();
      return current();
    },
  };
}

const PATIENCE_MS = 5000;
const HANDLES = new Set(["TCPSocketWrap", "TCPServerWrap", "PipeWrap", "PipeServerWrap"]);

/** The stack of the call that set each timer that is still to fire. */
const timers = new Map<unknown, string>();

function watchTimers(): void {
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
  const forget = (timer: unknown) => timers.delete(timer);
  const remember = <Timer>(timer: Timer): Timer => {
    const origin = getOrigin(stack());
    if (origin !== undefined) timers.set(timer, `timer of ${origin}`);
    return timer;
  };
  const setWatchedTimeout = <Args extends unknown[]>(
    callback: (...args: Args) => void,
    delay?: number,
    ...args: Args
  ) => {
    const timer = setTimeout(() => {
      forget(timer);
      callback(...args);
    }, delay);
    return remember(timer);
  };
  Object.assign(globalThis, {
    setTimeout: Object.assign(setWatchedTimeout, setTimeout),
    setInterval: (callback: () => void, delay?: number) => remember(setInterval(callback, delay)),
    clearTimeout: (timer: NodeJS.Timeout | undefined) => {
      forget(timer);
      clearTimeout(timer);
    },
    clearInterval: (timer: NodeJS.Timeout | undefined) => {
      forget(timer);
      clearInterval(timer);
    },
  });
}

watchTimers();

function stack(): string {
  const { stackTraceLimit } = Error;
  // Deep enough to reach our code through the library that sets the timer.
  Error.stackTraceLimit = 50;
  const { stack: text = "" } = new Error("stack");
  Error.stackTraceLimit = stackTraceLimit;
  return text;
}

/** Sets a timer that stays while the API keeps answers, and that holds no process open. */
const LASTING = "/src/endpoints/responses/recent-answers.ts";

function getOrigin(text: string): string | undefined {
  if (text.includes(LASTING)) return undefined;
  return text.match(/\/src\/server\/[^\s)]+/)?.[0];
}

function openHandles(): string[] {
  return process.getActiveResourcesInfo().filter((name) => HANDLES.has(name));
}

function added(before: readonly string[], now: readonly string[]): string[] {
  const left = [...before];
  return now.filter((name) => {
    const index = left.indexOf(name);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}
