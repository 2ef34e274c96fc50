import { constants } from "node:os";

const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGQUIT"] as const;

/**
 * Waits for SIGTERM, SIGINT or SIGQUIT. A second signal ends the process at once, with the exit code that shells use for
 * it (143, 130 or 131).
 * @param others Further signals that stop the program.
 */
export function stopSignal(others: readonly NodeJS.Signals[] = []): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false;
    for (const signal of [...STOP_SIGNALS, ...others]) {
      process.on(signal, () => {
        if (stopping) process.exit(128 + constants.signals[signal]);
        stopping = true;
        resolve(signal);
      });
    }
  });
}
