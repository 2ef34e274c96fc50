/** What the tables have of a run, and what becomes of it in memory and back. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { InternalError } from "../../../core/errors.ts";
import { type Run, type RunEvent, RunStatus } from "../../../gen/outrigger/v1/run_pb.ts";
import type { ThreadMessage } from "../../../gen/outrigger/v1/thread_pb.ts";
import { heedsCancel } from "../../status.ts";
import type { StoredRun } from "../../store.ts";
import { firstCallId } from "../first-call-id.ts";
import type { Bodies } from "./bodies.ts";

/** The time of the database, which all sidecars share, in milliseconds. Not that of the transaction's begin. */
export const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** The columns of a row that becomes a run in memory. */
export const RUN_COLUMNS = "id, body, thread_id, last_sequence, cancel_requested";

/** The columns of a row that becomes a stored run. */
export const STORED_RUN_COLUMNS = `${RUN_COLUMNS}, owner, request`;

/** A row with RUN_COLUMNS. */
export interface RunRow {
  readonly id: string;
  readonly body: Uint8Array;
  readonly thread_id: string;
  readonly last_sequence: number;
  readonly cancel_requested: boolean;
}

/** A row with STORED_RUN_COLUMNS. */
export interface StoredRunRow extends RunRow {
  readonly owner: string;
  readonly request: Uint8Array;
}

/** The run of a row. Columns that writes change alone win over its body. */
export function runOf(row: RunRow, bodies: Bodies): Run {
  const run = bodies.readRun(row.id, row.body);
  run.threadId = row.thread_id;
  run.lastSequence = row.last_sequence;
  run.cancelRequested ||= row.cancel_requested && heedsCancel(run.status);
  return run;
}

/** The stored run of a row. */
export function storedRunOf(row: StoredRunRow, bodies: Bodies): StoredRun {
  return {
    run: runOf(row, bodies),
    owner: row.owner,
    request: bodies.readRequest(row.id, row.request),
  };
}

/** When a run was created, in milliseconds. */
export function createdAtOf({ createdAt }: Pick<Run, "createdAt"> | ThreadMessage): number {
  return createdAt === undefined ? 0 : timestampMs(createdAt);
}

/** From when on the age of a run counts, in milliseconds. Null while it is under way. */
export function idleSince(run: Run): number | null {
  if (isUnderWay(run.status)) return null;
  const { endedAt } = run;
  return run.status === RunStatus.REQUIRES_ACTION || endedAt === undefined
    ? createdAtOf(run)
    : timestampMs(endedAt);
}

/** Whether a process works on a run with this status, or is going to. */
export function isUnderWay(status: RunStatus): boolean {
  return status === RunStatus.QUEUED || status === RunStatus.IN_PROGRESS;
}

/** Messages as the arrays that a statement takes. */
export interface MessageColumns {
  readonly ids: readonly string[];
  readonly runIds: readonly string[];
  readonly areOutput: readonly string[];
  readonly bodies: readonly Uint8Array[];
  /** Ids of their first tool calls. */
  readonly callIds: readonly (string | null)[];
  /** The latest time at which one was created, in milliseconds. 0 where there is none. */
  readonly latest: number;
}

/** Messages as columns. */
export function messageColumns(messages: readonly ThreadMessage[], bodies: Bodies): MessageColumns {
  return {
    ids: messages.map(({ id }) => id),
    runIds: messages.map(({ runId }) => runId),
    areOutput: messages.map(({ isOutput }) => String(isOutput)),
    callIds: messages.map((message) => firstCallId(message) ?? null),
    bodies: messages.map((message) => bodies.writeMessage(message)),
    latest: messages.reduce((latest, message) => Math.max(latest, createdAtOf(message)), 0),
  };
}

/** Events as the arrays that a statement takes. */
export interface EventColumns {
  /** Sequence number of the first event. Null where there is none. */
  readonly first: number | null;
  /** Sequence number of the last event. Null where there is none. */
  readonly last: number | null;
  /** Sequence number of the last event of each row. */
  readonly lastOfRows: readonly number[];
  readonly bodies: readonly Uint8Array[];
}

/**
 * Events as columns.
 * @throws InternalError where their sequence numbers are not consecutive.
 */
export function eventColumns(runId: string, events: readonly RunEvent[], bodies: Bodies): EventColumns {
  const first = events[0]?.sequence ?? null;
  for (const [index, { sequence }] of events.entries()) {
    if (sequence !== Number(first) + index) throw outOfSequence(Number(first) + index, sequence);
  }
  const rows = bodies.writeEvents(runId, events);
  return {
    first,
    last: events.at(-1)?.sequence ?? null,
    lastOfRows: rows.map(({ lastSequence }) => lastSequence),
    bodies: rows.map(({ body }) => body),
  };
}

/** The failure of a write whose events do not follow those that are there. */
export function outOfSequence(expected: number, found: number): InternalError {
  return new InternalError(
    `an event of a run has the sequence number ${found} where ${expected} is the next`,
  );
}
