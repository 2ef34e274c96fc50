/**
 * `outrigger-client`: calls a sidecar. Beside the Client it exports what `outrigger` does, the library that
 * calls the providers itself, so that a program changes from one to the other by its import.
 */

import { setModelClientSource } from "../../../src/generation/default-model-client.ts";
import { getDefaultClient, setDefaultClient } from "./default-client.ts";

export * from "../../../src/common.ts";
export {
  type McpServer,
  type Run,
  type RunEvent,
  RunStatus,
  type ToolApproval,
} from "../../../src/gen/outrigger/v1/run_pb.ts";
export type { Thread, ThreadMessage } from "../../../src/gen/outrigger/v1/thread_pb.ts";
export type { RunCallOptions } from "./answer.ts";
export type { CallInfo, CallLog, CallSettings } from "./call-info.ts";
export { Client, type ClientOptions } from "./client.ts";
export { toFailure as toSdkFailure } from "./failure.ts";
export { type RunFilter, type RunOptions, Runs } from "./runs.ts";
export { type MessageListOptions, type ThreadOptions, Threads } from "./threads.ts";
export { getDefaultClient, setDefaultClient };

setModelClientSource(getDefaultClient);
