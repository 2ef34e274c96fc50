const SETTLED = Promise.resolve();

/**
 * Runs a function after the code that runs now. For every read of the network: `queueMicrotask` would make an async
 * resource and a closure each time. The function must not throw.
 */
export function inMicrotask(run: () => void): void {
  void SETTLED.then(run);
}
