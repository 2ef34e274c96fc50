import { timestampNow } from "@bufbuild/protobuf/wkt";
import { toSdkError } from "../core/errors.ts";
import { type Run, RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import type { EngineParts } from "./engine-parts.ts";
import { createStatusEvent } from "./run-event.ts";
import { type StatusChange, withStatus } from "./status.ts";

/** Cancels a run that this process holds and does not execute. */
export function cancelHeldRun(parts: EngineParts, run: Run): Promise<void> {
  return endHeldRun(parts, run, RunStatus.CANCELLED, { cancelRequested: true });
}

/**
 * Fails a run that this process holds and could not start: its lease would be renewed for as long as the process runs,
 * and no other process would take it.
 */
export function failHeldRun(parts: EngineParts, run: Run, thrown: unknown): Promise<void> {
  return endHeldRun(parts, run, RunStatus.FAILED, { error: toSdkError(thrown).toProto() });
}

async function endHeldRun(
  { store, lease, observer }: EngineParts,
  run: Run,
  status: RunStatus,
  fields: StatusChange,
): Promise<void> {
  const lastSequence = run.lastSequence + 1;
  const ended = withStatus(run, status, {
    ...fields,
    lastSequence,
    requiredResults: [],
    requiredApprovals: [],
    endedAt: timestampNow(),
  });
  const events = [createStatusEvent(lastSequence, ended)];
  if (await store.write({ runId: run.id, lease, run: ended, events })) observer.runEnded?.(ended);
}
