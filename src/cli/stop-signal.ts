import { constants } from "node:os";

const STOP_SIGNALS = ["SIGTERM", "SIGINT"] as const;

/**
 * Waits for SIGTERM or SIGINT. A second signal ends the process at once, with the exit code that shells use for it (143
 * or 130).
 */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false;
    for (const signal of STOP_SIGNALS) {
      process.on(signal, () => {
        if (stopping) process.exit(128 + constants.signals[signal]);
        stopping = true;
        resolve(signal);
      });
    }
  });
}
