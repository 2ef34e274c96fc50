import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}

/** Tests that look at latency, memory or shares of a core. */
const ALONE = ["test/attacks/**/*.test.ts", "test/support/event-loop/*.test.ts"];
const RUNS = "test/runs/**/*.test.ts";

/** Compiles a copy of the project and runs suites in it. */
const RECIPES = "test/recipes/*.test.ts";

/** Fail tests that hold the event loop of a sidecar: of one in a process of its own, of one in the test's process. */
const WATCH_PROCESSES = "./test/support/event-loop/watch-processes.ts";
const WATCH_THIS_PROCESS = "./test/support/event-loop/watch-this-process.ts";

/** Tests that start whole processes of `outrigger`. They take long, so most run with the bundle only. */
const COMMANDS = "test/cli/*.test.ts";
const KILLED_RUNS = ["test/runs/kill.test.ts", "test/runs/store/postgres/sidecars.test.ts"];

/** Gives tests the bundle, which is what ships, in the place of the sources. */
const globalSetup = "test/support/build-program.ts";

export default defineConfig({
  resolve: {
    // The library's own name leads to its source, so that tests read like a user's code.
    alias: [
      { find: /^outrigger$/, replacement: pathOf("./src/index.ts") },
      { find: /^outrigger\/proto$/, replacement: pathOf("./src/proto.ts") },
      { find: /^outrigger\/kit$/, replacement: pathOf("./src/kit/index.ts") },
      { find: /^outrigger\/simulator$/, replacement: pathOf("./simulator/index.ts") },
    ],
  },
  test: {
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // What a test waits for comes at once, but not on a busy machine.
    expect: { poll: { timeout: 10_000 } },
    // Many tests wait for sockets, processes and timers: one worker leaves half of two cores idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    reporters: ["dot", "./test/support/closing-line.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "tests",
          include: ["test/**/*.test.ts"],
          exclude: [
            ...ALONE,
            RUNS,
            "test/cli/!(demo).test.ts",
            "test/recipes/**",
            "test/clients/**",
            "node_modules/**",
          ],
        },
      },
      {
        extends: true,
        test: {
          name: "runs",
          include: [RUNS],
          exclude: KILLED_RUNS,
          setupFiles: [WATCH_PROCESSES, WATCH_THIS_PROCESS],
        },
      },
      { extends: true, test: { name: "bundle", include: [COMMANDS], globalSetup } },
      {
        extends: true,
        test: { name: "bundle-runs", include: KILLED_RUNS, setupFiles: [WATCH_PROCESSES], globalSetup },
      },
      // They run when the other tests have left the cores to them, and one file at a time.
      {
        extends: true,
        test: {
          name: "attacks",
          include: [...ALONE, RECIPES],
          maxWorkers: 1,
          setupFiles: [WATCH_PROCESSES],
          testTimeout: 600_000,
          sequence: { groupOrder: 1 },
          globalSetup,
        },
      },
    ],
  },
});
