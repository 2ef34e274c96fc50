/** Setup of a test file: a test fails if it holds the event loop of a sidecar that it started as a process. */
import { afterAll, afterEach, beforeAll } from "vitest";
import { expectNoHolds } from "./expect-no-holds.ts";
import type { Hold } from "./loop-watch.ts";
import { startWatchingProcesses, stopWatchingProcesses, takeHoldsOfProcesses } from "./watched-processes.ts";

/**
 * Longest computation of a process, in milliseconds. An attack that ends hundreds of calls in one turn of the event loop
 * takes more than the 250 ms of a test in this process.
 */
const MAX_COMPUTED_MS = 600;

beforeAll(startWatchingProcesses);
// Hooks of setup files run last: the sidecars of the test have been ended.
afterEach(async () => {
  const holds = await takeHoldsOfProcesses();
  const isLong = ({ computedMs, waitedMs, blockedMs }: Hold) =>
    computedMs > MAX_COMPUTED_MS + waitedMs || computedMs < blockedMs;
  expectNoHolds("a sidecar's process", holds.filter(isLong));
});
afterAll(stopWatchingProcesses);
