/** Events of runs, and what is known of runs by their state. */
import { type Run, type RunEvent, RunStatus } from "../../../gen/outrigger/v1/run_pb.ts";
import { isTerminal } from "../../status.ts";
import { blob, integer, text } from "./columns.ts";
import type { SqliteDatabase } from "./database.ts";
import { eventsPlace, findRun, findRunNumber, type RunRow, type Tables } from "./run-rows.ts";

/** Bodies of events that are read at a time, in bytes: what one reader may hold in memory. */
const MAX_READ_BYTES = 1024 * 1024;

const SELECT_EVENTS = `SELECT last_sequence, body FROM events WHERE run = ? AND last_sequence > ?
  ORDER BY last_sequence`;
const SELECT_QUEUED = "SELECT id FROM runs WHERE status = 1 ORDER BY number";
const SELECT_IN_PROGRESS = "SELECT id FROM runs WHERE status = 2 ORDER BY number";
const COUNT_QUEUED = "SELECT count(*) AS queued FROM runs WHERE status = 1";
const SELECT_STATUS = "SELECT status FROM runs WHERE id = ?";
const NOTE_CANCEL = "UPDATE runs SET cancel_requested = 1 WHERE number = ? AND cancel_requested = 0";

/** Events after a sequence number: at least one row of them, and no more rows where there are enough bytes. */
export function readEvents(
  tables: Tables,
  runId: string,
  afterSequence: number,
  maxEvents: number,
): RunEvent[] {
  const { database, codec } = tables;
  const number = findRunNumber(tables, runId);
  const found: RunEvent[] = [];
  if (number === undefined) return found;
  let bytes = 0;
  for (const row of database.rows(SELECT_EVENTS, number, afterSequence)) {
    const body = blob(row.body);
    bytes += body.byteLength;
    if (found.length > 0 && bytes > MAX_READ_BYTES) break;
    const events = codec.readEvents(body, eventsPlace(runId, integer(row.last_sequence)));
    found.push(...events.filter(({ sequence }) => sequence > afterSequence));
    if (found.length >= maxEvents) break;
  }
  return found.slice(0, maxEvents);
}

/** Notes that a run is to be cancelled, unless it is over. Returns the run as it is then. */
export function noteCancel({ database }: Tables, { number, run }: RunRow): Run {
  if (isTerminal(run.status)) return run;
  database.change(NOTE_CANCEL, number);
  return { ...run, cancelRequested: true };
}

/** The queued run that came first, of those that are not skipped. */
export function findQueued(
  database: SqliteDatabase,
  isSkipped: (runId: string) => boolean,
): string | undefined {
  return database.guard(() => {
    for (const row of database.rows(SELECT_QUEUED)) {
      const runId = text(row.id);
      if (!isSkipped(runId)) return runId;
    }
    return undefined;
  });
}

/** Whether a run is in the queue. */
export function isQueued(database: SqliteDatabase, runId: string): boolean {
  return database.guard(() => database.first(SELECT_STATUS, runId)?.status === RunStatus.QUEUED);
}

/** How many runs are in the queue. */
export function countQueued(database: SqliteDatabase): number {
  return integer(database.first(COUNT_QUEUED)?.queued);
}

/** Runs that are in progress and that nobody holds, at most so many. */
export function findAbandoned(tables: Tables, limit: number, isHeld: (runId: string) => boolean): RunRow[] {
  const found: RunRow[] = [];
  const ids = [];
  for (const row of tables.database.rows(SELECT_IN_PROGRESS)) {
    if (ids.length >= limit) break;
    const runId = text(row.id);
    if (!isHeld(runId)) ids.push(runId);
  }
  for (const runId of ids) {
    const row = findRun(tables, runId);
    if (row !== undefined) found.push(row);
  }
  return found;
}
