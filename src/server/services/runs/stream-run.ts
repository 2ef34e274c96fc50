import type { HandlerContext } from "@connectrpc/connect";
import type { Batches } from "../../../core/batches.ts";
import type { RunEvent } from "../../../gen/outrigger/v1/run_pb.ts";
import type { StreamRunRequest } from "../../../gen/outrigger/v1/run_service_pb.ts";
import type { RunCall, RunParts } from "./run-call.ts";
import { requireId } from "./run-id.ts";
import { streamEvents } from "./stream-events.ts";

/** Serves StreamRun. */
export function streamRun(
  parts: RunParts,
  { runId, afterSequence = -1 }: StreamRunRequest,
  context: HandlerContext,
): Batches<RunEvent> {
  const open = ({ engine, owner, signal }: RunCall) =>
    engine.streamRun(owner, requireId("run_id", runId), afterSequence, signal);
  return streamEvents(parts, context, open, { failsWithRun: false });
}
