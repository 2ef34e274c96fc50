/** The methods of RunService and ThreadService, in one chunk of the program. */
export { RunCall } from "./run-call.ts";
export { runMethods } from "./run-methods.ts";
export { threadMethods } from "./threads.ts";
