import { create } from "@bufbuild/protobuf";
import type { Batches } from "../../../core/batches.ts";
import { errorFromProto, ServerError } from "../../../core/errors.ts";
import { type Run, type RunEvent, RunStatus } from "../../../gen/outrigger/v1/run_pb.ts";
import { DeleteRunResponseSchema, type RunService } from "../../../gen/outrigger/v1/run_service_pb.ts";
import type { StartedRun } from "../../../runs/engine.ts";
import type { Methods } from "../../calls/service-methods.ts";
import { type RunCall, requireId, withPageToken } from "./run-call.ts";

/** The methods of RunService. A failed run is a successful response of CreateRun, since its caller needs its id. */
export const runMethods: Methods<typeof RunService, RunCall> = {
  createRun: async (call, request) =>
    toResult(await call.engine.createRun({ request }, { ...call.options, isStreamed: false }), call),

  createRunStream: (call, request) =>
    streamEvents(call, async () => (await call.engine.createRun({ request }, call.options)).events, {
      failsWithRun: true,
    }),

  getRun: (call, { runId }) =>
    call.readStored(() => call.engine.getRun(call.owner, requireId("run_id", runId))),

  streamRun: (call, { runId, afterSequence = -1 }) => {
    const { engine, owner, signal } = call;
    const open = () => engine.streamRun(owner, requireId("run_id", runId), afterSequence, signal);
    return streamEvents(call, open, { failsWithRun: false });
  },

  async submitToolResults(call, request) {
    requireId("run_id", request.runId);
    const options = { ...call.options, isStreamed: false };
    return toResult(await call.engine.submitToolResults(request, options), call);
  },

  cancelRun: ({ engine, owner }, { runId }) => engine.cancelRun(owner, requireId("run_id", runId)),

  listRuns: (call, request) =>
    call.readStored(() => withPageToken(call.engine.listRuns(call.owner, request))),

  async deleteRun({ engine, owner }, { runId }) {
    await engine.deleteRun(owner, requireId("run_id", runId));
    return create(DeleteRunResponseSchema);
  },
};

async function toResult(started: StartedRun, call: RunCall): Promise<Run> {
  if (started.run.background) return started.run;
  const run = await started.result();
  // The run was cancelled because of the signal, whose reason becomes the status.
  if (call.signal.aborted) throw call.signal.reason;
  if (run.error !== undefined) call.record.fail(errorFromProto(run.error));
  return run;
}

/** Options for the end of a stream of events. */
interface StreamEnd {
  /**
   * Whether a failure of the run fails the call too: true for the call that started the run, false for a call that
   * reads it.
   */
  readonly failsWithRun: boolean;
}

/** Yields the events of a run as the response of a call. Leaving the iteration leaves the engine's iteration. */
async function* streamEvents(
  call: RunCall,
  open: () => Promise<Batches<RunEvent>> | Batches<RunEvent>,
  { failsWithRun }: StreamEnd,
): AsyncGenerator<readonly RunEvent[]> {
  let last: RunEvent["event"] | undefined;
  try {
    for await (const batch of await open()) {
      last = batch.at(-1)?.event;
      yield batch;
    }
    // A truncated stream must not look complete.
    if (call.signal.aborted) throw call.signal.reason;
    checkEnd(last, failsWithRun);
  } catch (thrown) {
    throw call.fail(thrown);
  } finally {
    call.end();
  }
}

function checkEnd(last: RunEvent["event"] | undefined, failsWithRun: boolean): void {
  if (last === undefined) return;
  if (last.case !== "run" || QUEUED_OR_RUNNING.includes(last.value.status))
    throw new ServerError("the run was deleted before its last event");
  const { error } = last.value;
  if (failsWithRun && error !== undefined) throw errorFromProto(error);
}

const QUEUED_OR_RUNNING: readonly RunStatus[] = [RunStatus.QUEUED, RunStatus.IN_PROGRESS];
