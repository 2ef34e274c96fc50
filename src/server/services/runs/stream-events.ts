import type { HandlerContext } from "@connectrpc/connect";
import { type Batches, lazyBatches } from "../../../core/batches.ts";
import { errorFromProto, ServerError } from "../../../core/errors.ts";
import { type RunEvent, RunStatus } from "../../../gen/outrigger/v1/run_pb.ts";
import type { StreamRunRequest } from "../../../gen/outrigger/v1/run_service_pb.ts";
import { RunCall, type RunParts, requireId } from "./run-call.ts";

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

/** Options for the end of a stream of events. */
export interface StreamEnd {
  /**
   * Whether a failure of the run fails the call too: true for the call that started the run, false for a call that
   * reads it.
   */
  readonly failsWithRun: boolean;
}

/** Returns the events of a run as the response of a call. Leaving the iteration leaves the engine's iteration. */
export function streamEvents(
  parts: RunParts,
  context: HandlerContext,
  open: (call: RunCall) => Promise<Batches<RunEvent>> | Batches<RunEvent>,
  end: StreamEnd,
): Batches<RunEvent> {
  return lazyBatches(() => getEvents(new RunCall(parts, context), open, end));
}

async function* getEvents(
  call: RunCall,
  open: (call: RunCall) => Promise<Batches<RunEvent>> | Batches<RunEvent>,
  { failsWithRun }: StreamEnd,
): AsyncGenerator<readonly RunEvent[]> {
  let last: RunEvent["event"] | undefined;
  try {
    for await (const batch of await open(call)) {
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
  if (last.case !== "run" || UNDER_WAY.includes(last.value.status))
    throw new ServerError("the run was deleted before its last event");
  const { error } = last.value;
  if (failsWithRun && error !== undefined) throw errorFromProto(error);
}

const UNDER_WAY: readonly RunStatus[] = [RunStatus.QUEUED, RunStatus.IN_PROGRESS];
