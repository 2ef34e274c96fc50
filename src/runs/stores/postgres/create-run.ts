/** Creates a run with its input, in a thread that is new, that it continues, or that it forks. */

import { create } from "@bufbuild/protobuf";
import type { Message } from "../../../gen/outrigger/v1/message_pb.ts";
import { type Run, type RunEvent, RunStatus } from "../../../gen/outrigger/v1/run_pb.ts";
import { ThreadSchema } from "../../../gen/outrigger/v1/thread_pb.ts";
import type { RunCreation, RunCreationResult } from "../../store.ts";
import type { Bodies } from "./bodies.ts";
import type { Queries, Statement } from "./database.ts";
import { messagesOf, READ_HISTORY } from "./messages.ts";
import {
  createdAtOf,
  eventColumns,
  isUnderWay,
  messageColumns,
  NOW,
  RUN_COLUMNS,
  type RunRow,
  runOf,
} from "./run-rows.ts";
import { writeRun } from "./write-run.ts";

/** Creates or extends the thread, copies what a fork begins with, and adds the run, its events and its input. */
const CREATE: Statement = {
  name: "create_run",
  text: `
    WITH thread AS (
      INSERT INTO :schema.threads (id, owner, is_conversation, next_position, last_added_at, body)
      VALUES ($2, $3, FALSE, $10::integer + 1 + cardinality($13::text[]), $5, $12)
      ON CONFLICT (id) DO UPDATE
      SET next_position = excluded.next_position,
        last_added_at = greatest(threads.last_added_at, excluded.last_added_at)
    ), copied AS (
      INSERT INTO :schema.thread_messages (thread_id, position, message_id)
      SELECT $2, position, message_id FROM :schema.thread_messages
      WHERE thread_id = $11::text AND position < $10
    ), run AS (
      INSERT INTO :schema.runs (
        id, thread_id, owner, status, created_at, last_sequence, position, end_position,
        lease_holder, lease_until, body, request)
      VALUES (
        $1, $2, $3, $4, $5, $6, $10, $10::integer + 1 + cardinality($13::text[]),
        $7::text, CASE WHEN $7::text IS NULL THEN NULL ELSE ${NOW} + $8::bigint END, $9, $19)
    ), events AS (
      INSERT INTO :schema.events (run_id, last_sequence, body)
      SELECT $1, event.last_sequence, event.body
      FROM unnest($17::integer[], $18::bytea[]) AS event (last_sequence, body)
    ), messages AS (
      INSERT INTO :schema.messages (id, owner, run_id, is_output, body, call_id)
      SELECT message.id, $3, message.run_id, message.is_output, message.body, message.call_id
      FROM unnest($13::text[], $14::text[], $15::boolean[], $16::bytea[], $20::text[])
          AS message (id, run_id, is_output, body, call_id)
    )
    INSERT INTO :schema.thread_messages (thread_id, position, message_id)
    SELECT $2, $10 + message.number, message.id
    FROM unnest($13::text[]) WITH ORDINALITY AS message (id, number)`,
};

const LOCK_PREVIOUS: Statement = {
  name: "lock_previous_run",
  text: `
    SELECT run.id, run.status, run.lease_holder, run.end_position, thread.next_position,
      coalesce(run.lease_until >= ${NOW}, FALSE) AS is_held, run.body, run.thread_id, run.last_sequence,
      run.cancel_requested
    FROM :schema.threads AS thread JOIN :schema.runs AS run ON run.thread_id = thread.id
    WHERE run.id = $1 AND run.owner = $2
    FOR UPDATE OF thread, run`,
};

const LOCK_THREAD: Statement = {
  name: "lock_thread",
  text: `SELECT next_position FROM :schema.threads WHERE id = $1 AND owner = $2 FOR UPDATE`,
};

/** The run of a thread that is under way or requires action: there is at most one. */
const LOCK_ACTIVE: Statement = {
  name: "lock_active_run",
  text: `
    SELECT status, lease_holder, coalesce(lease_until >= ${NOW}, FALSE) AS is_held, ${RUN_COLUMNS}
    FROM :schema.runs WHERE thread_id = $1 AND status IN (1, 2, 3)
    FOR UPDATE`,
};

/** A run that was locked. */
interface LockedRun extends RunRow {
  readonly status: RunStatus;
  readonly lease_holder: string | null;
  readonly is_held: boolean;
}

/** The thread and position of a run. */
interface Place {
  readonly threadId: string;
  readonly position: number;
  /** The thread whose messages before the position are copied. Empty for none. */
  readonly forkOf: string;
}

/** Creates a run inside of a transaction. */
export async function createRun(
  queries: Queries,
  creation: RunCreation,
  bodies: Bodies,
): Promise<RunCreationResult> {
  const place = await findPlace(queries, creation, bodies);
  if ("case" in place) return place;
  const history = await readHistory(queries, place, creation.run.threadId, bodies);
  const run = { ...creation.run, threadId: place.threadId };
  await insert(queries, { ...creation, run }, place, creation.input(history), bodies);
  return { case: "created", run, forked: place.forkOf !== "" };
}

/** Whether a run begins a thread of its own, so that no lock and nothing but an insertion is needed. */
export function beginsThread({ request }: RunCreation): boolean {
  return request.previousRunId === "" && request.threadId === "";
}

async function findPlace(
  queries: Queries,
  creation: RunCreation,
  bodies: Bodies,
): Promise<Place | RunCreationResult> {
  const { request, run } = creation;
  if (request.previousRunId !== "") return placeAfterRun(queries, creation, bodies);
  if (request.threadId !== "") return placeInThread(queries, creation, bodies);
  return { threadId: run.threadId, position: 0, forkOf: "" };
}

async function placeAfterRun(
  queries: Queries,
  creation: RunCreation,
  bodies: Bodies,
): Promise<Place | RunCreationResult> {
  const [previous] = await queries.query<LockedRun & { end_position: number; next_position: number }>(
    LOCK_PREVIOUS,
    [creation.request.previousRunId, creation.owner],
  );
  if (previous === undefined) return { case: "missing", field: "previous_run_id" };
  if (isUnderWay(previous.status) || previous.is_held) return { case: "unfinished", status: previous.status };
  await conclude(queries, previous, creation, bodies);
  const { thread_id, end_position: position, next_position } = previous;
  if (position === next_position) return { threadId: thread_id, position, forkOf: "" };
  return { threadId: creation.run.threadId, position, forkOf: thread_id };
}

async function placeInThread(
  queries: Queries,
  creation: RunCreation,
  bodies: Bodies,
): Promise<Place | RunCreationResult> {
  const { threadId } = creation.request;
  const [thread] = await queries.query<{ next_position: number }>(LOCK_THREAD, [threadId, creation.owner]);
  if (thread === undefined) return { case: "missing", field: "thread_id" };
  const [active] = await queries.query<LockedRun>(LOCK_ACTIVE, [threadId]);
  if (active !== undefined) {
    if (isUnderWay(active.status) || active.is_held) return { case: "busy", activeRunId: active.id };
    await conclude(queries, active, creation, bodies);
  }
  return { threadId, position: thread.next_position, forkOf: "" };
}

/** Ends a run that requires action and that no process holds: its conversation continues without the results. */
async function conclude(
  queries: Queries,
  previous: LockedRun,
  { concludePrevious }: RunCreation,
  bodies: Bodies,
): Promise<void> {
  if (previous.status !== RunStatus.REQUIRES_ACTION) return;
  const change = concludePrevious(runOf(previous, bodies));
  const holder = previous.lease_holder;
  await writeRun(queries, { ...change, runId: previous.id, holder, durationMs: 0 }, bodies);
}

async function readHistory(
  queries: Queries,
  { threadId, position, forkOf }: Place,
  newThreadId: string,
  bodies: Bodies,
): Promise<Message[]> {
  const source = forkOf || threadId;
  if (source === newThreadId && position === 0) return [];
  return messagesOf(await queries.query(READ_HISTORY, [source, position]), bodies);
}

async function insert(
  queries: Queries,
  { run, owner, request, events, lease }: RunCreation,
  { threadId, position, forkOf }: Place,
  input: ReturnType<RunCreation["input"]>,
  bodies: Bodies,
): Promise<void> {
  const messages = messageColumns(input, bodies);
  const rows = eventColumns(
    run.id,
    events.map((event) => inThread(event, threadId)),
    bodies,
  );
  const thread = create(ThreadSchema, { id: threadId, createdAt: run.createdAt });
  await queries.query(CREATE, [
    run.id,
    threadId,
    owner,
    run.status,
    createdAtOf(run),
    rows.last ?? run.lastSequence,
    lease?.holder ?? null,
    lease?.durationMs ?? 0,
    bodies.writeRun(run),
    position,
    forkOf || null,
    bodies.writeThread(thread),
    messages.ids,
    messages.runIds,
    messages.areOutput,
    messages.bodies,
    rows.lastOfRows,
    rows.bodies,
    bodies.writeRequest(run.id, request),
    messages.callIds,
  ]);
}

/** An event with the thread that the run got. */
function inThread(event: RunEvent, threadId: string): RunEvent {
  if (event.event.case !== "run" || event.event.value.threadId === threadId) return event;
  const run: Run = { ...event.event.value, threadId };
  return { ...event, event: { case: "run", value: run } };
}
