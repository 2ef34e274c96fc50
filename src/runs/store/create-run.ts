/** Creates runs: finds their threads, forks these if needed, and concludes the runs that they continue. */
import { create } from "@bufbuild/protobuf";
import { InternalError } from "../../core/errors.ts";
import { type RunEvent, RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import { type Thread, ThreadSchema } from "../../gen/outrigger/v1/thread_pb.ts";
import { createStatusEvent } from "../run-log.ts";
import { isUnderWay, runAfterContinuation } from "../status.ts";
import type { RunCreation, RunCreationResult, StoredMessage } from "../store.ts";
import {
  type Bodies,
  getCreationTime,
  getFirstCallId,
  getOverTime,
  type MessageRow,
  RUN_COLUMNS,
  type RunRow,
} from "./bodies.ts";
import type { Answer, Call, Driver, Queries } from "./driver.ts";
import { IS_HELD } from "./holds.ts";
import { countBytes, type Room } from "./room.ts";

export const LOCK_THREAD = `
  SELECT number, id, next_position FROM :schema.threads WHERE id = $1 AND owner = $2 :for_update`;

const LOCK_THREAD_OF_RUN = `
  SELECT number, id, next_position FROM :schema.threads
  WHERE id = (SELECT thread_id FROM :schema.runs WHERE id = $1 AND owner = $2) :for_update`;

const LOCK_RUN = `
  SELECT ${RUN_COLUMNS}, ${IS_HELD} AS is_held FROM :schema.runs WHERE id = $1 AND owner = $2 :for_update`;

/** The latest run of a thread, by the order of creation. */
export const LOCK_LATEST_RUN = `
  SELECT ${RUN_COLUMNS}, ${IS_HELD} AS is_held FROM :schema.runs
  WHERE thread_id = $1 AND owner = $2 ORDER BY number DESC LIMIT 1 :for_update`;

const FIND_LATEST_NUMBER = `
  SELECT number FROM :schema.runs WHERE thread_id = $1 AND owner = $2 ORDER BY number DESC LIMIT 1`;

const READ_HISTORY = `
  SELECT messages.id, messages.body
  FROM :schema.thread_messages JOIN :schema.messages ON messages.number = thread_messages.message
  WHERE thread_messages.thread = $1 AND thread_messages.position < $2
  ORDER BY thread_messages.position`;

const INSERT_THREAD = `
  INSERT INTO :schema.threads (id, owner, is_conversation, next_position, used_ms, body)
  VALUES ($1, $2, $3, $4, $5, $6)`;

const COPY_MESSAGES = `
  INSERT INTO :schema.thread_messages (thread, position, message)
  SELECT threads.number, source.position, source.message
  FROM :schema.threads JOIN :schema.thread_messages AS source ON source.thread = $2 AND source.position < $3
  WHERE threads.id = $1`;

const INSERT_RUN = `
  INSERT INTO :schema.runs (id, owner, thread_id, status, created_ms, over_ms, cancel_requested, start_position,
    end_position, holder, fence, body)
  VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9, $10, $11) :returning_number`;

const INSERT_REQUEST = "INSERT INTO :schema.requests (run, body) VALUES (:inserted_number, $1)";

const INSERT_FIRST_EVENTS =
  "INSERT INTO :schema.events (run, last_sequence, body) VALUES (:inserted_number, $1, $2)";

const INSERT_EVENTS = "INSERT INTO :schema.events (run, last_sequence, body) VALUES ($1, $2, $3)";

export const USE_THREAD = `
  UPDATE :schema.threads
  SET next_position = $2, used_ms = CASE WHEN used_ms < $3 THEN $3 ELSE used_ms END WHERE id = $1`;

const CONCLUDE = `
  UPDATE :schema.runs SET status = $2, over_ms = $3, body = $4, holder = NULL, fence = fence + 1 WHERE id = $1`;

const INSERT_MESSAGE = `
  INSERT INTO :schema.messages (id, owner, run_id, is_output, call_id, body)
  VALUES ($1, $2, $3, $4, $5, $6)`;

const INSERT_LINK = `
  INSERT INTO :schema.thread_messages (thread, position, message)
  SELECT number, $2, :inserted_number FROM :schema.threads WHERE id = $1`;

/** A thread that is locked. */
export interface ThreadRow {
  readonly number: number;
  readonly id: string;
  readonly next_position: number;
}

interface LockedRunRow extends RunRow {
  readonly is_held: number;
}

interface Place {
  readonly threadId: string;
  readonly position: number;
  /** The thread with the messages that the run reads. Undefined: a new thread. */
  readonly source: ThreadRow | undefined;
  readonly forked: boolean;
}

/** The result of creating a run, with its number in the store. */
export type NumberedResult = RunCreationResult & { readonly number?: number };

/**
 * Creates a run: in a new thread, for which nothing has to be read before, in an existing one, or in its fork.
 * @param room Refuses runs if there is no space for them.
 */
export async function createRun(
  driver: Driver,
  room: Room,
  bodies: Bodies,
  creation: RunCreation,
): Promise<NumberedResult> {
  const { run, request } = creation;
  let bytes = 0;
  const prepare = (place: Place, history: readonly MessageRow[]) => {
    const calls = insertRun(creation, place, creation.input(bodies.readHistory(history)), bodies);
    bytes = countBytes(calls);
    room.checkCreation(bytes);
    return calls;
  };
  let result: NumberedResult;
  if (request.previousRunId === "" && request.threadId === "") {
    const place = { threadId: run.threadId, position: 0, source: undefined, forked: false };
    const calls = prepare(place, []);
    const number = getNumber(calls, await driver.batch(calls, "create"));
    result = { case: "created", run, forked: false, number };
  } else {
    const findPlace = request.previousRunId === "" ? placeInThread : placeAfterRun;
    result = await driver.transaction("create", async (queries): Promise<NumberedResult> => {
      const place = await findPlace(queries, creation, bodies);
      if ("case" in place) return place;
      const { threadId, forked, source, position } = place;
      const history = await queries.query<MessageRow>(READ_HISTORY, [source.number, position]);
      const calls = prepare(place, history);
      const number = getNumber(calls, await queries.execute(calls));
      return { case: "created", run: { ...run, threadId }, forked, number };
    });
  }
  if (result.case === "created") room.add(run.id, bytes);
  return result;
}

/** The number of a new run, from the answers to the statements of its creation. */
function getNumber(calls: readonly Call[], answers: readonly Answer[]): number {
  const number = answers[calls.findIndex(({ text }) => text === INSERT_RUN)]?.number;
  if (number === undefined) throw new InternalError("the run store gave no number to a new run");
  return number;
}

/** A place in an existing thread, or in its fork. */
type FoundPlace = Place & { readonly source: ThreadRow };

/** Threads are locked before runs, everywhere. */
async function placeAfterRun(
  queries: Queries,
  creation: RunCreation,
  bodies: Bodies,
): Promise<FoundPlace | RunCreationResult> {
  const key = [creation.request.previousRunId, creation.owner];
  const [[source], [previous]] = await Promise.all([
    queries.query<ThreadRow>(LOCK_THREAD_OF_RUN, key),
    queries.query<LockedRunRow>(LOCK_RUN, key),
  ]);
  if (source === undefined || previous === undefined) return { case: "missing", field: "previous_run_id" };
  if (isActive(previous)) return { case: "unfinished", status: previous.status };
  const [latest] = await queries.query<{ number: number }>(FIND_LATEST_NUMBER, [source.id, creation.owner]);
  await conclude(queries, previous, bodies);
  const position = previous.end_position;
  const forked = latest?.number !== previous.number || source.next_position !== position;
  return { threadId: forked ? creation.run.threadId : source.id, position, source, forked };
}

async function placeInThread(
  queries: Queries,
  creation: RunCreation,
  bodies: Bodies,
): Promise<FoundPlace | RunCreationResult> {
  const key = [creation.request.threadId, creation.owner];
  const [[source], [latest]] = await Promise.all([
    queries.query<ThreadRow>(LOCK_THREAD, key),
    queries.query<LockedRunRow>(LOCK_LATEST_RUN, key),
  ]);
  if (source === undefined) return { case: "missing", field: "thread_id" };
  if (latest !== undefined) {
    if (isActive(latest)) return { case: "busy", activeRunId: latest.id };
    await conclude(queries, latest, bodies);
  }
  return { threadId: source.id, position: source.next_position, source, forked: false };
}

/** Whether a run is under way, or held by a live process. */
export function isActive({ status, is_held }: Pick<LockedRunRow, "status" | "is_held">): boolean {
  return isUnderWay(status) || is_held === 1;
}

/** Ends a run that requires action: its conversation continues without the results. */
async function conclude(queries: Queries, previous: LockedRunRow, bodies: Bodies): Promise<void> {
  if (previous.status !== RunStatus.REQUIRES_ACTION) return;
  const current = bodies.readRun(previous);
  const run = { ...runAfterContinuation(current), lastSequence: current.lastSequence + 1 };
  const rows = bodies.writeEvents(run.id, [createStatusEvent(run.lastSequence, run)]);
  await queries.execute([
    ...rows.map((row) => ({ text: INSERT_EVENTS, values: [previous.number, row.last_sequence, row.body] })),
    { text: CONCLUDE, values: [run.id, run.status, getOverTime(run), bodies.writeRun(run)] },
  ]);
}

function insertRun(
  { owner, request, origin, trace, events, holder, run: created }: RunCreation,
  { threadId, position, source, forked }: Place,
  input: readonly StoredMessage[],
  bodies: Bodies,
): Call[] {
  const run = created.threadId === threadId ? created : { ...created, threadId };
  const createdAt = getCreationTime(run);
  const end = position + input.length;
  const row = [run.id, owner, threadId, run.status, createdAt, getOverTime(run), position, end];
  const thread = create(ThreadSchema, {
    id: created.threadId,
    ...(run.createdAt && { createdAt: run.createdAt }),
  });
  const isNew = source === undefined || forked;
  const firstEvents = events.map((event): RunEvent => {
    if (event.event.case !== "run" || event.event.value.threadId === threadId) return event;
    return { ...event, event: { case: "run", value: { ...event.event.value, threadId } } };
  });
  return [
    ...(isNew ? [insertThread(owner, thread, end, createdAt, bodies)] : []),
    ...(forked && source ? [{ text: COPY_MESSAGES, values: [threadId, source.number, position] }] : []),
    {
      text: INSERT_RUN,
      values: [...row, holder?.id ?? null, holder === undefined ? 0 : 1, bodies.writeRun(run)],
    },
    { text: INSERT_REQUEST, values: [bodies.writeRequest(run.id, { request, origin, trace })] },
    ...bodies
      .writeEvents(run.id, firstEvents)
      .map(({ last_sequence, body }) => ({ text: INSERT_FIRST_EVENTS, values: [last_sequence, body] })),
    ...insertMessages(owner, threadId, position, input, bodies),
    ...(isNew ? [] : [{ text: USE_THREAD, values: [threadId, end, createdAt] }]),
  ];
}

/** The statement that inserts a thread. */
export function insertThread(
  owner: string,
  thread: Thread,
  nextPosition: number,
  usedAt: number,
  bodies: Bodies,
): Call {
  const flag = thread.conversation ? 1 : 0;
  return {
    text: INSERT_THREAD,
    values: [thread.id, owner, flag, nextPosition, usedAt, bodies.writeThread(thread)],
  };
}

/** The statements that append messages to a thread from a position on. */
export function insertMessages(
  owner: string,
  threadId: string,
  position: number,
  messages: readonly StoredMessage[],
  bodies: Bodies,
): Call[] {
  return messages.flatMap((message, index) => {
    const { id, runId, output } = message;
    const callId = getFirstCallId(message) ?? null;
    const values = [id, owner, runId, output ? 1 : 0, callId, bodies.writeMessage(message)];
    return [
      { text: INSERT_MESSAGE, values },
      { text: INSERT_LINK, values: [threadId, position + index] },
    ];
  });
}
