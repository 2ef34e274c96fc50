/** The methods of RunService, in one chunk of the program. */
export { createRun, createRunStream, submitToolResults } from "./execute.ts";
export { cancelRun, deleteRun, getRun, listMessages, listRuns } from "./manage.ts";
export { streamRun } from "./stream-run.ts";
