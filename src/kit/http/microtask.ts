const SETTLED = Promise.resolve();

/**
 * Runs a function after the current synchronous code, at every read of the network. `queueMicrotask` would create an
 * async resource and a closure each time. The function must not throw.
 */
export function inMicrotask(run: () => void): void {
  void SETTLED.then(run);
}
