/** Setup of a test file: a test fails if it holds the event loop of this process, in which the sidecar runs as well. */
import { afterEach, beforeEach } from "vitest";
import { expectNoHolds } from "./expect-no-holds.ts";
import { testLoop } from "./test-loop.ts";

beforeEach(() => {
  testLoop.take();
});
afterEach(() => expectNoHolds("this process", testLoop.take()));
