#!/usr/bin/env node
import { run } from "./run.ts";

// A reader that has seen enough, such as `head`, is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

void run(process.argv.slice(2)).then((code) => process.exit(code));
