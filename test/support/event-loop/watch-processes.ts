/** Setup of a test file: a test fails if it holds the event loop of a sidecar that it started as a process. */
import { afterAll, afterEach, beforeAll } from "vitest";
import { expectNoHolds } from "./expect-no-holds.ts";
import { startWatchingProcesses, stopWatchingProcesses, takeHoldsOfProcesses } from "./watched-processes.ts";

beforeAll(startWatchingProcesses);
// Hooks of setup files run last: the sidecars of the test have been ended.
afterEach(async () => expectNoHolds("a sidecar's process", await takeHoldsOfProcesses()));
afterAll(stopWatchingProcesses);
