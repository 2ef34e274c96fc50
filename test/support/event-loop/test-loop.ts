import { watchLoop } from "./loop-watch.ts";

/** The watch over this process. A test runs long synchronous work of its own in `testLoop.uncounted`. */
export const testLoop = watchLoop();
