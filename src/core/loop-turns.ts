/**
 * Limits the time that calls may take in one turn of the event loop, over the whole process. One system call can report
 * hundreds of readable or closed sockets; without a common limit, the work for all these sockets would be one turn.
 */
import { setImmediate } from "node:timers";

/** Time in milliseconds that work may take in one turn before the rest waits for later turns. */
const SHARE_MS = 10;

/** One pass over a value of this many bytes takes about a millisecond; a call makes a dozen. */
const LARGE_BYTES = 1024 * 1024;

const waiting: (() => void)[] = [];
/**
 * Work of lower priority: one piece starts in every second turn, and more if nothing else waits. A piece may take
 * longer than the share of its turn.
 */
const postponed: (() => void)[] = [];
/** Whether this turn begins with a piece of postponed work, and the next one does not. */
let beginsPostponed = false;
/** Start of the first work in the current turn, in milliseconds. Undefined if nothing has run in it yet. */
let startedAt: number | undefined;

/**
 * Returns a promise only if the share of this turn is used up. It resolves in a later turn, in the order of the calls.
 * If there is no promise, the caller must continue without an `await`: otherwise many callers could ask before the
 * first one works, and all would be let through.
 */
export function yieldTurn(): Promise<void> | undefined {
  return hasShare() ? undefined : new Promise((resolve) => waiting.push(resolve));
}

/**
 * Returns a promise that resolves in a later turn, for use between two passes over a large value. Undefined if a value
 * of this many bytes is small. The share does not suffice for this: it counts from its first call in a turn, so a long
 * pass before that would not be counted.
 */
export function yieldTurnAfter(bytes: number): Promise<void> | undefined {
  if (bytes < LARGE_BYTES) return undefined;
  return new Promise(runInLaterTurn);
}

/** Runs work now, or in a later turn if the share of this one is used up. */
export function runInTurn(work: () => void): void {
  if (hasShare()) work();
  else waiting.push(work);
}

/** Runs work in a later turn, after all work that is already waiting. */
export function runInLaterTurn(work: () => void): void {
  // Begins a turn, so that there is a later one.
  hasShare();
  waiting.push(work);
}

/** Runs work in a later turn, after all other work: for connections that recently took a lot of time. */
export function runAfterOthers(work: () => void): void {
  hasShare();
  postponed.push(work);
}

/** Reports whether work can begin in this turn. If not, give it to `runInTurn`. */
export function hasShare(): boolean {
  if (startedAt === undefined) {
    startedAt = performance.now();
    setImmediate(endTurn);
    return true;
  }
  return waiting.length === 0 && performance.now() - startedAt < SHARE_MS;
}

/** Ends the turn of work that a socket or a timer began. It runs before either is polled again. */
function endTurn(): void {
  if (waiting.length > 0 || postponed.length > 0) setImmediate(beginTurn);
  else startedAt = undefined;
}

function beginTurn(): void {
  startedAt = undefined;
  beginsPostponed = !beginsPostponed && postponed.length > 0;
  if (waiting.length === 0 && postponed.length === 0) return;
  startedAt = performance.now();
  if (beginsPostponed) waiting.unshift(...postponed.splice(0, 1));
  // An immediate that is set in an immediate belongs to the next turn.
  setImmediate(beginTurn);
  runNext();
}

/** Runs the waiting work, with all promise callbacks that follow from each piece, until the share is used up. */
function runNext(): void {
  if (startedAt === undefined || performance.now() - startedAt >= SHARE_MS) return;
  const next = waiting.shift() ?? postponed.shift();
  if (next === undefined) return;
  // A tick that is queued by a microtask runs when no further microtasks are left.
  queueMicrotask(() => process.nextTick(runNext));
  next();
}
