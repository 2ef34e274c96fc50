#!/usr/bin/env node
import { run } from "./run.ts";

// A reader that closes the pipe early, such as `head`, is not a failure. The log of `serve` does not write here.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

// Without a listener of its own, Node opens its inspector, which can read every key. The image also turns it off by
// --disable-sigusr1, which a program cannot give itself.
process.on("SIGUSR1", () => {});

void run(process.argv.slice(2)).then((code) => process.exit(code));
