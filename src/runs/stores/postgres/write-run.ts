/** Changes a run that a process holds. */
import { RunStatus } from "../../../gen/outrigger/v1/run_pb.ts";
import type { RunWrite } from "../../store.ts";
import type { Bodies } from "./bodies.ts";
import type { Queries, Statement, Value } from "./database.ts";
import { eventColumns, idleSince, messageColumns, NOW, outOfSequence } from "./run-rows.ts";

/**
 * One statement, thus one round trip and one transaction. The row of the run is locked before anything is added, and all
 * that is added hangs on it: where another process holds the run, nothing is written. Threads are locked before runs,
 * here as everywhere.
 */
const WRITE: Statement = {
  name: "write_run",
  text: `
    WITH thread AS (
      UPDATE :schema.threads
      SET next_position = next_position + cardinality($13::text[]), last_added_at = greatest(last_added_at, $17)
      WHERE cardinality($13::text[]) > 0
        AND id = (SELECT thread_id FROM :schema.runs WHERE id = $1 AND lease_holder IS NOT DISTINCT FROM $2)
      RETURNING id, next_position
    ), written AS (
      UPDATE :schema.runs
      SET body = coalesce($3::bytea, body),
        status = coalesce($4::smallint, status),
        idle_since = CASE WHEN $4::smallint IS NULL THEN idle_since ELSE $5::bigint END,
        cancel_requested = cancel_requested OR $6,
        last_sequence = coalesce($8::integer, last_sequence),
        end_position = coalesce((SELECT next_position FROM thread), end_position),
        lease_holder = CASE WHEN $18 THEN NULL ELSE lease_holder END,
        lease_until = CASE WHEN $18 THEN NULL ELSE ${NOW} + $19::bigint END
      WHERE id = $1 AND lease_holder IS NOT DISTINCT FROM $2
        AND ($7::integer IS NULL OR last_sequence = $7 - 1)
      RETURNING id, owner
    ), replaced AS (
      UPDATE :schema.steps AS step SET body = $11
      FROM written
      WHERE $11::bytea IS NOT NULL AND step.run_id = written.id
        AND step.number = $20
    ), steps AS (
      INSERT INTO :schema.steps (run_id, number, body)
      SELECT written.id, $20::integer + step.number, step.body
      FROM written, unnest($12::bytea[]) WITH ORDINALITY AS step (body, number)
    ), events AS (
      INSERT INTO :schema.events (run_id, last_sequence, body)
      SELECT written.id, event.last_sequence, event.body
      FROM written, unnest($9::integer[], $10::bytea[]) AS event (last_sequence, body)
    ), messages AS (
      INSERT INTO :schema.messages (id, owner, run_id, is_output, body, call_id)
      SELECT message.id, written.owner, message.run_id, message.is_output, message.body, message.call_id
      FROM written, thread,
        unnest($13::text[], $14::text[], $15::boolean[], $16::bytea[], $21::text[])
          AS message (id, run_id, is_output, body, call_id)
    ), placed AS (
      INSERT INTO :schema.thread_messages (thread_id, position, message_id)
      SELECT thread.id, thread.next_position - cardinality($13::text[]) + message.number - 1, message.id
      FROM written, thread, unnest($13::text[]) WITH ORDINALITY AS message (id, number)
    )
    SELECT id FROM written`,
};

const COUNT_STEPS: Statement = {
  name: "count_steps",
  text: "SELECT count(*)::integer AS count FROM :schema.steps WHERE run_id = $1",
};

const LAST_SEQUENCE: Statement = {
  name: "last_sequence_held",
  text: `
    SELECT last_sequence FROM :schema.runs WHERE id = $1 AND lease_holder IS NOT DISTINCT FROM $2`,
};

/** A change, and who has to hold the run for it. */
export interface FencedWrite extends Omit<RunWrite, "lease"> {
  /** Who holds the run; null for nobody. */
  readonly holder: string | null;
  /** How long the run is held from now on, in milliseconds. */
  readonly durationMs: number;
}

/** Whether a write puts the run into the queue. */
export function isQueueing({ run }: Pick<RunWrite, "run">): boolean {
  return run?.status === RunStatus.QUEUED;
}

/** Whether a write ends the lease: no process works on the run in the state that it gets. */
export function endsLease({ run }: Pick<RunWrite, "run">): boolean {
  return run !== undefined && run.status !== RunStatus.IN_PROGRESS;
}

/**
 * Changes a run. False where it is not held as the write says.
 * @throws InternalError where the events do not follow those that are there.
 */
export async function writeRun(queries: Queries, write: FencedWrite, bodies: Bodies): Promise<boolean> {
  const events = eventColumns(write.runId, write.events ?? [], bodies);
  const messages = messageColumns(write.messages ?? [], bodies);
  const count = await countSteps(queries, write);
  const values: Value[] = [
    write.runId,
    write.holder,
    ...runValues(write, bodies),
    events.first,
    events.last,
    events.lastOfRows,
    events.bodies,
    write.latestStep === undefined ? null : bodies.writeStep(write.runId, count, write.latestStep),
    (write.steps ?? []).map((step, index) => bodies.writeStep(write.runId, count + index + 1, step)),
    messages.ids,
    messages.runIds,
    messages.areOutput,
    messages.bodies,
    messages.latest,
    endsLease(write),
    write.durationMs,
    count,
    messages.callIds,
  ];
  if ((await queries.query(WRITE, values)).length > 0) return true;
  await checkSequence(queries, write, events.first);
  return false;
}

/** The number of steps that are there. Only who holds the run adds to them, and only then anything is written. */
async function countSteps(queries: Queries, { runId, latestStep, steps = [] }: FencedWrite): Promise<number> {
  if (latestStep === undefined && steps.length === 0) return 0;
  const [row] = await queries.query<{ count: number }>(COUNT_STEPS, [runId]);
  return row?.count ?? 0;
}

function runValues({ run }: FencedWrite, bodies: Bodies): Value[] {
  if (run === undefined) return [null, null, null, false];
  return [bodies.writeRun(run), run.status, idleSince(run), run.cancelRequested];
}

/** Tells why nothing was written: the run is not held, or the events do not fit. */
async function checkSequence(queries: Queries, write: FencedWrite, first: number | null): Promise<void> {
  if (first === null) return;
  const [row] = await queries.query<{ last_sequence: number }>(LAST_SEQUENCE, [write.runId, write.holder]);
  if (row !== undefined && row.last_sequence !== first - 1) throw outOfSequence(row.last_sequence + 1, first);
}
