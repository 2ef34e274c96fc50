/** The methods that start or continue a run. */
import type { HandlerContext } from "@connectrpc/connect";
import type { Batches } from "../../../core/batches.ts";
import { errorFromProto } from "../../../core/errors.ts";
import type { Run, RunEvent } from "../../../gen/outrigger/v1/run_pb.ts";
import type { CreateRunRequest, SubmitToolResultsRequest } from "../../../gen/outrigger/v1/run_service_pb.ts";
import type { StartedRun } from "../../../runs/engine.ts";
import { answer, type RunCall, type RunParts, requireId } from "./run-call.ts";
import { streamEvents } from "./stream-events.ts";

/** Serves CreateRun. A failed run is a successful response, since its caller needs its id. */
export function createRun(parts: RunParts, request: CreateRunRequest, context: HandlerContext): Promise<Run> {
  return answer(parts, context, async (call) =>
    toResult(await call.engine.createRun({ request }, { ...call.options, isStreamed: false }), call),
  );
}

/** Serves SubmitToolResults. */
export function submitToolResults(
  parts: RunParts,
  request: SubmitToolResultsRequest,
  context: HandlerContext,
): Promise<Run> {
  return answer(parts, context, async (call) => {
    requireId("run_id", request.runId);
    const options = { ...call.options, isStreamed: false };
    return toResult(await call.engine.submitToolResults(request, options), call);
  });
}

/** Serves CreateRunStream. */
export function createRunStream(
  parts: RunParts,
  request: CreateRunRequest,
  context: HandlerContext,
): Batches<RunEvent> {
  const open = async (call: RunCall) => (await call.engine.createRun({ request }, call.options)).events;
  return streamEvents(parts, context, open, { failsWithRun: true });
}

async function toResult(started: StartedRun, call: RunCall): Promise<Run> {
  if (started.run.background) return started.run;
  const run = await started.result();
  // The run was cancelled because of the signal, whose reason becomes the status.
  if (call.signal.aborted) throw call.signal.reason;
  if (run.error !== undefined) call.record.fail(errorFromProto(run.error));
  return run;
}
