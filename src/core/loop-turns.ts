/**
 * The share of each turn of the event loop that calls may take, over the whole process. One system call can report
 * hundreds of sockets that are readable or closed; without a common share, the work for all of them would be one turn.
 */
import { setImmediate } from "node:timers";

/** Time in milliseconds that work may take in one turn before the rest waits for later turns. */
const SHARE_MS = 10;

const waiting: (() => void)[] = [];
/** When the current turn began, as far as calls have worked in it. Undefined: none has. */
let startedAt: number | undefined;

/**
 * Returns a promise only if the share of this turn is used up; it resolves in a later turn, in the order of the calls.
 * Otherwise the caller goes on without an `await`: many that ask before any of them works would all be let through.
 */
export function yieldTurn(): Promise<void> | undefined {
  return hasShare() ? undefined : new Promise((resolve) => waiting.push(resolve));
}

/** Runs some work now, or in a later turn if the share of this one is used up. */
export function runInTurn(work: () => void): void {
  if (hasShare()) work();
  else waiting.push(work);
}

function hasShare(): boolean {
  if (startedAt === undefined) {
    startedAt = performance.now();
    setImmediate(endTurn);
    return true;
  }
  return waiting.length === 0 && performance.now() - startedAt < SHARE_MS;
}

/** Ends the turn of work that a socket or a timer began. It runs before either has been looked at again. */
function endTurn(): void {
  if (waiting.length > 0) setImmediate(beginTurn);
  else startedAt = undefined;
}

function beginTurn(): void {
  startedAt = undefined;
  if (waiting.length === 0) return;
  startedAt = performance.now();
  // An immediate that is set in an immediate belongs to the next turn.
  setImmediate(beginTurn);
  runNext();
}

/** Runs what waits, with all promise callbacks that follow from each piece, until the share is used up. */
function runNext(): void {
  if (startedAt === undefined || performance.now() - startedAt >= SHARE_MS) return;
  const next = waiting.shift();
  if (next === undefined) return;
  // A tick that is queued by a microtask runs when no further microtasks are left.
  queueMicrotask(() => process.nextTick(runNext));
  next();
}
