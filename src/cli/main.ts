#!/usr/bin/env node
import { restartWithSettings, setHeapGrowth } from "./process-settings.ts";
import { holdHangups, stopSignal } from "./signals.ts";

if (process.argv[2] === "serve") {
  restartWithSettings();
  setHeapGrowth();
  // Before the rest is loaded, which takes most of the start: the first process of a container ignores signals without
  // a listener, and would have to be killed.
  void stopSignal();
  holdHangups();
}

// A reader that closes the pipe early, such as `head`, is not a failure. The log of `serve` does not write here.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

// Without a listener for this signal, Node opens its inspector, which can read every key.
process.on("SIGUSR1", () => {});

// Loaded here and not above, because the process may be replaced first.
void import("./run.ts").then(({ run }) => run(process.argv.slice(2))).then((code) => process.exit(code));
