/** Rows of runs, and what is in them. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { InternalError } from "../../../core/errors.ts";
import { type Run, type RunEvent, RunSchema, RunStatus } from "../../../gen/outrigger/v1/run_pb.ts";
import { CreateRunRequestSchema } from "../../../gen/outrigger/v1/run_service_pb.ts";
import { heedsCancel } from "../../status.ts";
import type { StoredRun } from "../../store.ts";
import type { BodyCodec } from "../body-codec.ts";
import { blob, integer, text } from "./columns.ts";
import type { Row, SqliteDatabase } from "./database.ts";

/** What the tables are read and written with. */
export interface Tables {
  readonly database: SqliteDatabase;
  readonly codec: BodyCodec;
}

/** A row of `runs`. */
export interface RunRow {
  readonly number: number;
  readonly owner: string;
  readonly threadId: string;
  readonly endPosition: number;
  readonly startPosition: number;
  /** As it is now. */
  readonly run: Run;
}

/** The columns of a RunRow. The latest sequence number is that of the events: most writes leave the run as it is. */
export const RUN_COLUMNS = `number, id, owner, thread_id, start_position, end_position, cancel_requested, body,
  (SELECT last_sequence FROM events WHERE run = runs.number ORDER BY last_sequence DESC LIMIT 1) AS last_sequence`;

const SELECT_RUN = `SELECT ${RUN_COLUMNS} FROM runs WHERE id = ?`;
const SELECT_OWNED_RUN = `${SELECT_RUN} AND owner = ?`;
const SELECT_REQUEST = "SELECT body FROM requests WHERE run = ?";
const INSERT_EVENTS = "INSERT INTO events (run, last_sequence, first_sequence, body) VALUES (?, ?, ?, ?)";
const SELECT_NUMBER = "SELECT number FROM runs WHERE id = ?";

/** The run with that id, of any owner. */
export function findRun({ database, codec }: Tables, runId: string): RunRow | undefined {
  const row = database.first(SELECT_RUN, runId);
  return row && runRowOf(row, codec);
}

/** The run with that id, if it belongs to the owner. */
export function findOwnedRun({ database, codec }: Tables, owner: string, runId: string): RunRow | undefined {
  const row = database.first(SELECT_OWNED_RUN, runId, owner);
  return row && runRowOf(row, codec);
}

/** The number of the row of a run. */
export function findRunNumber({ database }: Tables, runId: string): number | undefined {
  const row = database.first(SELECT_NUMBER, runId);
  return row && integer(row.number);
}

/** A row with RUN_COLUMNS. */
export function runRowOf(row: Row, codec: BodyCodec): RunRow {
  const run = codec.read(RunSchema, blob(row.body), runPlace(text(row.id)));
  run.lastSequence = typeof row.last_sequence === "number" ? row.last_sequence : run.lastSequence;
  run.cancelRequested ||= row.cancel_requested === 1 && heedsCancel(run.status);
  return {
    number: integer(row.number),
    owner: text(row.owner),
    threadId: text(row.thread_id),
    startPosition: integer(row.start_position),
    endPosition: integer(row.end_position),
    run,
  };
}

/** The run with its request. */
export function storedRunOf({ database, codec }: Tables, { number, owner, run }: RunRow): StoredRun {
  const row = database.first(SELECT_REQUEST, number);
  const request = codec.read(CreateRunRequestSchema, blob(row?.body), requestPlace(run.id));
  return { run, owner, request };
}

/** Appends events to a run: one row for all of them. */
export function insertEvents(
  { database, codec }: Tables,
  { number, runId }: { readonly number: number; readonly runId: string },
  events: readonly RunEvent[],
): void {
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) return;
  const body = codec.writeEvents(events, eventsPlace(runId, last.sequence));
  database.change(INSERT_EVENTS, number, last.sequence, first.sequence, body);
}

/**
 * The sequence number of the last of some events, or that before them where there are none.
 * @throws InternalError where they do not follow it one by one.
 */
export function lastOf(events: readonly RunEvent[], before: number): number {
  let expected = before + 1;
  for (const { sequence } of events) {
    if (sequence !== expected) {
      throw new InternalError(`expected the event ${expected} of a run, found ${sequence}`);
    }
    expected += 1;
  }
  return expected - 1;
}

/** From when on the age of a run counts. Null while it is under way. */
export function overTimeOf(run: Run): number | null {
  switch (run.status) {
    case RunStatus.QUEUED:
    case RunStatus.IN_PROGRESS:
      return null;
    case RunStatus.REQUIRES_ACTION:
      return createdTimeOf(run);
    default:
      return run.endedAt === undefined ? createdTimeOf(run) : timestampMs(run.endedAt);
  }
}

/** When something was created. */
export function createdTimeOf({ createdAt }: Pick<Run, "createdAt">): number {
  return createdAt === undefined ? 0 : timestampMs(createdAt);
}

/** Where the body of a run is. */
export function runPlace(runId: string): string {
  return `run ${runId}`;
}

/** Where the request of a run is. */
export function requestPlace(runId: string): string {
  return `request of ${runId}`;
}

/** Where events of a run are. */
export function eventsPlace(runId: string, lastSequence: number): string {
  return `events of ${runId} up to ${lastSequence}`;
}

/** Where a step of a run is. */
export function stepPlace(runId: string, position: number): string {
  return `step ${position} of ${runId}`;
}
