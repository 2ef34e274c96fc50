import { watchLoop } from "./loop-watch.ts";

/** The watch over this process. A test runs its long synchronous work in `testLoop.uncounted`. */
export const testLoop = watchLoop();
