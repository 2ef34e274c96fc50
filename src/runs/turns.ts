/** Work in many short pieces that must not hold the event loop: one piece for each of its turns, over the whole process. */
const waiting: (() => void)[] = [];

/** Resolves in a turn of the event loop of its own: after those that asked before, and after other work. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(begin);
  });
}

function begin(): void {
  waiting.shift()?.();
  // An immediate that is set in an immediate belongs to the next turn.
  if (waiting.length > 0) setImmediate(begin);
}
