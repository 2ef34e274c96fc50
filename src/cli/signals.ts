import { constants } from "node:os";

const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGQUIT"] as const;

let first: Promise<NodeJS.Signals> | undefined;

/**
 * Waits for the first SIGTERM, SIGINT or SIGQUIT since it was called for the first time. A second signal ends the
 * process at once, with the exit code that shells use for it (143, 130 or 131).
 * @param others Further signals that stop the program. The first call determines them.
 */
export function stopSignal(others: readonly NodeJS.Signals[] = []): Promise<NodeJS.Signals> {
  first ??= new Promise((resolve) => {
    let stopping = false;
    for (const signal of [...STOP_SIGNALS, ...others]) {
      process.on(signal, () => {
        if (stopping) process.exit(128 + constants.signals[signal]);
        stopping = true;
        resolve(signal);
      });
    }
  });
  return first;
}

let handleHangup: (() => void) | undefined;
let isHangupDue = false;

/** Keeps SIGHUP from ending the process. One that arrives before `onHangup` is handled then. */
export function holdHangups(): void {
  process.on("SIGHUP", () => {
    if (handleHangup === undefined) isHangupDue = true;
    else handleHangup();
  });
}

/** Calls `handle` for each SIGHUP since `holdHangups`. */
export function onHangup(handle: () => void): void {
  handleHangup = handle;
  if (isHangupDue) handle();
}
