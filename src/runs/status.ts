/** The states of a run, as a table. */

import { InternalError } from "../core/errors.ts";
import { type Run, RunStatus, RunStatusSchema } from "../gen/outrigger/v1/run_pb.ts";

const NONE: ReadonlySet<RunStatus> = new Set();

/** Which status may follow which, as the comment on `RunStatus` in the contract says. */
const TRANSITIONS: ReadonlyMap<RunStatus, ReadonlySet<RunStatus>> = new Map<RunStatus, Set<RunStatus>>([
  [RunStatus.QUEUED, new Set([RunStatus.IN_PROGRESS, RunStatus.FAILED, RunStatus.CANCELLED])],
  [
    RunStatus.IN_PROGRESS,
    new Set([
      RunStatus.QUEUED,
      RunStatus.REQUIRES_ACTION,
      RunStatus.COMPLETED,
      RunStatus.INCOMPLETE,
      RunStatus.FAILED,
      RunStatus.CANCELLED,
    ]),
  ],
  [
    RunStatus.REQUIRES_ACTION,
    new Set([RunStatus.IN_PROGRESS, RunStatus.QUEUED, RunStatus.COMPLETED, RunStatus.CANCELLED]),
  ],
]);

/** Whether a run with this status never changes again. */
export function isTerminal(status: RunStatus): boolean {
  return !TRANSITIONS.has(status);
}

/**
 * Whether a request to cancel counts for a run with this status. Not for one that ended otherwise while the request came:
 * it is as its last event says.
 */
export function heedsCancel(status: RunStatus): boolean {
  return !isTerminal(status) || status === RunStatus.CANCELLED;
}

/** Whether a run with this status is queued or in progress. */
export function isUnderWay(status: RunStatus): boolean {
  return status === RunStatus.QUEUED || status === RunStatus.IN_PROGRESS;
}

function mayFollow(next: RunStatus, status: RunStatus): boolean {
  return (TRANSITIONS.get(status) ?? NONE).has(next);
}

/** What a change of status sets besides. */
export type StatusChange = Partial<Omit<Run, "$typeName" | "$unknown" | "id" | "status">>;

/**
 * The run with its next status.
 * @throws InternalError if that status may not follow.
 */
export function withStatus(run: Run, status: RunStatus, change: StatusChange = {}): Run {
  if (!mayFollow(status, run.status))
    throw new InternalError(`a run that is ${statusName(run.status)} cannot become ${statusName(status)}`);
  return { ...run, ...change, status };
}

/** The name of a status for a text: `IN_PROGRESS`. */
export function statusName(status: RunStatus): string {
  return RunStatusSchema.value[status]?.localName ?? String(status);
}
