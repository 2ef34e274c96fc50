/** The methods of RunService and ThreadService, in one chunk of the program. */
export { createRun, createRunStream, submitToolResults } from "./execute.ts";
export { cancelRun, deleteRun, getRun, listRuns } from "./manage.ts";
export { streamRun } from "./stream-events.ts";
export {
  appendMessages,
  createThread,
  deleteMessage,
  deleteThread,
  getMessage,
  getThread,
  listMessages,
  updateThread,
} from "./threads.ts";
