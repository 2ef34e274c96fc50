import type { HandlerContext } from "@connectrpc/connect";
import type { Batches } from "../../../core/batches.ts";
import { invalidField } from "../../../core/errors.ts";
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
  const open = ({ engine, owner, signal }: RunCall) => {
    requireId("run_id", runId);
    if (afterSequence < -1)
      throw invalidField("after_sequence", `expected a number from 0, found ${afterSequence}`);
    return engine.streamRun(owner, runId, afterSequence, signal);
  };
  return streamEvents(parts, context, open, { failsWithRun: false });
}
