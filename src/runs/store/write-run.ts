/** Changes a run that a process holds, in one round trip: one statement checks the hold, the others depend on it. */
import type { StepResult } from "../../gen/outrigger/v1/generation_pb.ts";
import { RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import type { RunWrite } from "../store.ts";
import { type Bodies, getFirstCallId, getLatestTime, getOverTime } from "./bodies.ts";
import type { Call, Value } from "./driver.ts";

/** The condition for the hold. Its number finds the run quickly, but may be that of a later one if the run was deleted. */
const HELD = "runs.number = $1 AND runs.id = $2 AND runs.holder = $3 AND runs.fence = $4";

/** A write of events only. The row of the run is locked, so that no other process takes the run meanwhile. */
const APPEND_EVENTS = `
  INSERT INTO :schema.events (run, last_sequence, body)
  SELECT runs.number, $5, $6 FROM :schema.runs WHERE ${HELD} :for_share`;

/** Threads are locked before runs. */
const LOCK_THREAD = `
  SELECT 1 FROM :schema.threads WHERE id = (SELECT thread_id FROM :schema.runs WHERE number = $1) :for_update`;

/** The end of a run moves behind its messages, unless its thread was deleted. */
const SET_END = `end_position = CASE WHEN $6 = 0 THEN end_position ELSE coalesce(
    (SELECT threads.next_position + $6 FROM :schema.threads WHERE threads.id = runs.thread_id), end_position) END`;

/** Checks the hold, and marks the row with the number of the write, which the following statements check. */
const MARK_RUN = `UPDATE :schema.runs SET revision = $5, ${SET_END} WHERE ${HELD}`;

const UPDATE_RUN = `
  UPDATE :schema.runs
  SET revision = $5, ${SET_END}, status = $7, over_ms = $8, body = $9,
    cancel_requested = CASE WHEN $10 = 1 THEN 1 ELSE cancel_requested END,
    holder = CASE WHEN $11 = 1 THEN NULL ELSE holder END
  WHERE ${HELD}`;

/** The condition for a run that this transaction has marked. */
const MARKED = "runs.number = $1 AND runs.revision = $2";

const INSERT_EVENTS = `
  INSERT INTO :schema.events (run, last_sequence, body)
  SELECT runs.number, $3, $4 FROM :schema.runs WHERE ${MARKED}`;

const REPLACE_STEP = `
  UPDATE :schema.steps SET body = $4
  WHERE run = (SELECT runs.number FROM :schema.runs WHERE ${MARKED}) AND number = $3`;

const INSERT_STEP = `
  INSERT INTO :schema.steps (run, number, body) SELECT runs.number, $3, $4 FROM :schema.runs WHERE ${MARKED}`;

/** Nothing is inserted if the thread was deleted. */
const INSERT_MESSAGE = `
  INSERT INTO :schema.messages (id, owner, run_id, is_output, call_id, body)
  SELECT $3, runs.owner, $4, $5, $6, $7
  FROM :schema.runs JOIN :schema.threads ON threads.id = runs.thread_id WHERE ${MARKED}`;

const INSERT_LINK = `
  INSERT INTO :schema.thread_messages (thread, position, message)
  SELECT threads.number, threads.next_position + $3, :inserted_number
  FROM :schema.runs JOIN :schema.threads ON threads.id = runs.thread_id WHERE ${MARKED}`;

const USE_THREAD = `
  UPDATE :schema.threads
  SET next_position = next_position + $3, used_ms = CASE WHEN used_ms < $4 THEN $4 ELSE used_ms END
  WHERE id = (SELECT runs.thread_id FROM :schema.runs WHERE ${MARKED})`;

/** Replaces the request of a run. */
export const REPLACE_REQUEST = `
  UPDATE :schema.requests SET body = $2 WHERE run = $1`;

/** What the store keeps in memory of a run that this process holds. Only the holder adds steps and events. */
export interface HeldRow {
  readonly number: number;
  readonly last_sequence: number;
  readonly steps: number;
}

const HELD_COLUMNS = `runs.number, (SELECT count(*) FROM :schema.steps WHERE run = runs.number) AS steps,
  (SELECT coalesce(max(last_sequence), -1) FROM :schema.events WHERE run = runs.number) AS last_sequence`;

/** Reads a HeldRow, if the hold is the run's latest one. */
export const FIND_HELD = `
  SELECT ${HELD_COLUMNS} FROM :schema.runs WHERE runs.id = $1 AND runs.holder = $2 AND runs.fence = $3`;

/** Whether a write ends the hold: no process works on the run in its new status. */
export function endsHold({ run }: Pick<RunWrite, "run">): boolean {
  return run !== undefined && run.status !== RunStatus.IN_PROGRESS;
}

/** The statements of a write. */
export interface WriteCalls {
  readonly calls: readonly Call[];
  /** Index of the statement that changes a row if the hold is the run's latest one, and the others too. */
  readonly checking: number;
}

/** The statements of a write. @param revision Marks the run, unless the write has only events. */
export function createWriteCalls(
  write: RunWrite,
  revision: number,
  { number, steps: known }: Pick<HeldRow, "number" | "steps">,
  bodies: Bodies,
): WriteCalls {
  const { hold, run, events = [], steps = [], latestStep, messages = [] } = write;
  const { runId } = hold;
  const rows = bodies.writeEvents(runId, events);
  const held = [number, runId, hold.holderId, hold.fence];
  const [row] = rows;
  const parts = steps.length + messages.length + (run === undefined && latestStep === undefined ? 0 : 1);
  if (rows.length === 1 && row !== undefined && parts === 0) {
    return { calls: [{ text: APPEND_EVENTS, values: [...held, row.last_sequence, row.body] }], checking: 0 };
  }
  const marked = (text: string, ...values: Value[]): Call => ({
    text,
    values: [number, revision, ...values],
  });
  const writeStep = (text: string, step: StepResult, at: number) =>
    marked(text, at, bodies.writeStep(runId, at, step));
  const locks: Call[] =
    messages.length === 0 ? [] : [{ text: LOCK_THREAD, values: [number], onlyLocks: true }];
  const calls: Call[] = [...locks];
  const mark = [...held, revision, messages.length];
  if (run === undefined) calls.push({ text: MARK_RUN, values: mark });
  else {
    const flags = [run.cancelRequested ? 1 : 0, endsHold(write) ? 1 : 0];
    const values = [...mark, run.status, getOverTime(run), bodies.writeRun(run), ...flags];
    calls.push({ text: UPDATE_RUN, values });
  }
  for (const { last_sequence, body } of rows) calls.push(marked(INSERT_EVENTS, last_sequence, body));
  if (latestStep !== undefined) calls.push(writeStep(REPLACE_STEP, latestStep, known));
  for (const [index, step] of steps.entries()) calls.push(writeStep(INSERT_STEP, step, known + index + 1));
  for (const [index, message] of messages.entries()) {
    const { id, output } = message;
    const row = [id, message.runId, output ? 1 : 0, getFirstCallId(message) ?? null];
    calls.push(marked(INSERT_MESSAGE, ...row, bodies.writeMessage(message)), marked(INSERT_LINK, index));
  }
  if (messages.length > 0) calls.push(marked(USE_THREAD, messages.length, getLatestTime(messages)));
  return { calls, checking: locks.length };
}
