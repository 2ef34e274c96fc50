/**
 * Creates runs in their threads or forks of these, gives them to processes, and changes runs that a process has
 * claimed.
 */
import { create } from "@bufbuild/protobuf";
import { InternalError } from "../../core/errors.ts";
import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import { type RunEvent, RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import { type Thread, ThreadSchema } from "../../gen/outrigger/v1/thread_pb.ts";
import { createStatusEvent } from "../run-log.ts";
import { isQueuedOrRunning, runAfterContinuation } from "../status.ts";
import type { RunCreation, RunCreationResult, RunWrite, StoredMessage } from "../store.ts";
import {
  type Bodies,
  getCreationTime,
  getFirstCallId,
  getLatestTime,
  getOverTime,
  type MessageRow,
  RUN_COLUMNS,
  type RunRow,
} from "./bodies.ts";
import { type Answer, type Call, countBytes, type Driver, type Queries, type Value } from "./driver.ts";
import type { RunSpace } from "./run-space.ts";
import { IS_CLAIMED } from "./schema.ts";

export const LOCK_THREAD = `
  SELECT number, id, next_position FROM :schema.threads WHERE id = $1 AND owner = $2 :for_update`;

const LOCK_THREAD_OF_RUN = `
  SELECT number, id, next_position FROM :schema.threads
  WHERE id = (SELECT thread_id FROM :schema.runs WHERE id = $1 AND owner = $2) :for_update`;

const LOCK_RUN = `
  SELECT ${RUN_COLUMNS}, ${IS_CLAIMED} AS is_claimed FROM :schema.runs WHERE id = $1 AND owner = $2 :for_update`;

/** The latest run of a thread, by the order of creation. */
export const LOCK_LATEST_RUN = `
  SELECT ${RUN_COLUMNS}, ${IS_CLAIMED} AS is_claimed FROM :schema.runs
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

const MESSAGE_COLUMNS = "id, run_id, is_output, call_id, body";

const INSERT_MESSAGE = `
  INSERT INTO :schema.messages (owner, ${MESSAGE_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)`;

const INSERT_LINK = `
  INSERT INTO :schema.thread_messages (thread, position, message)
  SELECT number, $2, :inserted_number FROM :schema.threads WHERE id = $1`;

/** A thread that is locked. */
export interface ThreadRow {
  readonly number: number;
  readonly id: string;
  readonly next_position: number;
}

/** A run that is locked. */
export interface LockedRunRow extends RunRow {
  readonly is_claimed: number;
}

interface ThreadPosition {
  readonly threadId: string;
  readonly position: number;
  /** The thread with the messages that the run reads. Undefined: a new thread. */
  readonly source: ThreadRow | undefined;
  readonly forked: boolean;
}

/** The result of creating a run, with its number in the store. */
export type NumberedResult = RunCreationResult & { readonly number?: number };

/**
 * Creates a run: in a new thread, for which nothing has to be read first, in an existing one, or in its fork.
 * @param room Refuses runs if there is no space for them. Undefined: the space is not limited.
 */
export async function createRun(
  driver: Driver,
  room: RunSpace | undefined,
  bodies: Bodies,
  creation: RunCreation,
): Promise<NumberedResult> {
  const { run, request } = creation;
  let bytes = 0;
  const prepare = (target: ThreadPosition, history: readonly Message[]) => {
    const calls = insertRun(creation, target, creation.input(history), bodies);
    bytes = countBytes(calls);
    room?.checkCreation(bytes);
    return calls;
  };
  let result: NumberedResult;
  if (request.previousRunId === "" && request.threadId === "") {
    const target = { threadId: run.threadId, position: 0, source: undefined, forked: false };
    const number = getNumber(await driver.batch(prepare(target, []), "create"));
    result = { case: "created", run, forked: false, number };
  } else {
    result = await driver.transaction("create", async (queries): Promise<NumberedResult> => {
      const target = await findPosition(queries, creation, bodies);
      if ("case" in target) return target;
      const { threadId, forked, source, position } = target;
      const rows = await queries.query<MessageRow>(READ_HISTORY, [source.number, position]);
      const number = getNumber(await queries.execute(prepare(target, bodies.readHistory(rows))));
      return { case: "created", run: { ...run, threadId }, forked, number };
    });
  }
  if (result.case === "created") room?.add(run.id, bytes);
  return result;
}

/** Returns the number of a new run, from the answers to the statements of `insertRun`. */
function getNumber([inserted]: readonly Answer[]): number {
  if (inserted?.number === undefined) throw new InternalError("the run store gave no number to a new run");
  return inserted.number;
}

/** A target in an existing thread, or in its fork. */
type FoundPosition = ThreadPosition & { readonly source: ThreadRow };

/**
 * Finds the target of a run that continues another one or a thread. Threads are locked before runs, as in all
 * transactions.
 */
async function findPosition(
  queries: Queries,
  { owner, request: { previousRunId, threadId }, run }: RunCreation,
  bodies: Bodies,
): Promise<FoundPosition | RunCreationResult> {
  const isAfterRun = previousRunId !== "";
  const key = [isAfterRun ? previousRunId : threadId, owner];
  const [[source], [previous]] = await Promise.all([
    queries.query<ThreadRow>(isAfterRun ? LOCK_THREAD_OF_RUN : LOCK_THREAD, key),
    queries.query<LockedRunRow>(isAfterRun ? LOCK_RUN : LOCK_LATEST_RUN, key),
  ]);
  if (source === undefined || (isAfterRun && previous === undefined))
    return { case: "missing", field: isAfterRun ? "previous_run_id" : "thread_id" };
  if (previous !== undefined && isActive(previous))
    return isAfterRun
      ? { case: "unfinished", status: previous.status }
      : { case: "busy", activeRunId: previous.id };
  if (previous !== undefined) await conclude(queries, previous, bodies);
  const end = source.next_position;
  if (!isAfterRun || previous === undefined)
    return { threadId: source.id, position: end, source, forked: false };
  const position = previous.end_position;
  const [latest] = await queries.query<{ number: number }>(FIND_LATEST_NUMBER, [source.id, owner]);
  const forked = latest?.number !== previous.number || end !== position;
  return { threadId: forked ? run.threadId : source.id, position, source, forked };
}

/** Reports whether a run is in progress, or claimed by a live process. */
export function isActive({ status, is_claimed }: Pick<LockedRunRow, "status" | "is_claimed">): boolean {
  return isQueuedOrRunning(status) || is_claimed === 1;
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

/** Returns the statements that create a run. The first one inserts it. */
function insertRun(
  { owner, request, origin, trace, events, holder, run: created }: RunCreation,
  { threadId, position, source, forked }: ThreadPosition,
  input: readonly StoredMessage[],
  bodies: Bodies,
): Call[] {
  const run = created.threadId === threadId ? created : { ...created, threadId };
  const createdAt = getCreationTime(run);
  const end = position + input.length;
  const row = [run.id, owner, threadId, run.status, createdAt, getOverTime(run), position, end];
  const claim = [holder?.id ?? null, holder === undefined ? 0 : 1];
  const times = run.createdAt && { createdAt: run.createdAt };
  const thread = create(ThreadSchema, { id: created.threadId, ...times });
  const isNew = source === undefined || forked;
  const moved = (event: RunEvent): RunEvent => {
    if (event.event.case !== "run") return event;
    return { ...event, event: { case: "run", value: { ...event.event.value, threadId } } };
  };
  const firstEvents = created.threadId === threadId ? events : events.map(moved);
  return [
    { text: INSERT_RUN, values: [...row, ...claim, bodies.writeRun(run)] },
    { text: INSERT_REQUEST, values: [bodies.writeRequest(run.id, { request, origin, trace })] },
    ...bodies
      .writeEvents(run.id, firstEvents)
      .map(({ last_sequence, body }) => ({ text: INSERT_FIRST_EVENTS, values: [last_sequence, body] })),
    ...(isNew ? [insertThread(owner, thread, end, createdAt, bodies)] : []),
    ...(forked && source ? [{ text: COPY_MESSAGES, values: [threadId, source.number, position] }] : []),
    ...insertMessages(owner, threadId, position, input, bodies),
    ...(isNew ? [] : [{ text: USE_THREAD, values: [threadId, end, createdAt] }]),
  ];
}

/** Returns the statement that inserts a thread. @param time When messages were added to it, in milliseconds. */
export function insertThread(owner: string, thread: Thread, end: number, time: number, bodies: Bodies): Call {
  const values = [thread.id, owner, thread.conversation ? 1 : 0, end, time, bodies.writeThread(thread)];
  return { text: INSERT_THREAD, values };
}

/** Returns the values of MESSAGE_COLUMNS. */
function toMessageValues(message: StoredMessage, bodies: Bodies): Value[] {
  const { id, runId, output } = message;
  return [id, runId, output ? 1 : 0, getFirstCallId(message) ?? null, bodies.writeMessage(message)];
}

/** Returns the statements that append messages to a thread from a position on. */
export function insertMessages(
  owner: string,
  threadId: string,
  position: number,
  messages: readonly StoredMessage[],
  bodies: Bodies,
): Call[] {
  const calls: Call[] = [];
  for (const [index, message] of messages.entries())
    calls.push(
      { text: INSERT_MESSAGE, values: [owner, ...toMessageValues(message, bodies)] },
      { text: INSERT_LINK, values: [threadId, position + index] },
    );
  return calls;
}

/**
 * The condition for the claim. The number finds the run quickly, but may belong to a later run if this one was deleted.
 */
const CLAIMED = "runs.number = $1 AND runs.id = $2 AND runs.holder = $3 AND runs.fence = $4";

/** A write of events only. The row of the run is locked, so that no other process claims the run meanwhile. */
const APPEND_EVENTS = `
  INSERT INTO :schema.events (run, last_sequence, body)
  SELECT runs.number, $5, $6 FROM :schema.runs WHERE ${CLAIMED} :for_share`;

/** Threads are locked before runs. */
const LOCK_CLAIMED_THREAD = `
  SELECT 1 FROM :schema.threads WHERE id = (SELECT thread_id FROM :schema.runs WHERE number = $1) :for_update`;

/** The end of a run moves behind its messages, unless its thread was deleted. */
const SET_END = `end_position = CASE WHEN $6 = 0 THEN end_position ELSE coalesce(
    (SELECT threads.next_position + $6 FROM :schema.threads WHERE threads.id = runs.thread_id), end_position) END`;

/** Checks the claim, and marks the row with the number of the write, which the following statements check. */
const MARK_RUN = `UPDATE :schema.runs SET revision = $5, ${SET_END} WHERE ${CLAIMED}`;

const UPDATE_RUN = `
  UPDATE :schema.runs
  SET revision = $5, ${SET_END}, status = $7, over_ms = $8, body = $9,
    cancel_requested = CASE WHEN $10 = 1 THEN 1 ELSE cancel_requested END,
    holder = CASE WHEN $11 = 1 THEN NULL ELSE holder END
  WHERE ${CLAIMED}`;

/** The condition for a run that this transaction has marked. */
const MARKED = "runs.number = $1 AND runs.revision = $2";

const INSERT_CLAIMED_EVENTS = `
  INSERT INTO :schema.events (run, last_sequence, body)
  SELECT runs.number, $3, $4 FROM :schema.runs WHERE ${MARKED}`;

const REPLACE_STEP = `
  UPDATE :schema.steps SET body = $4
  WHERE run = (SELECT runs.number FROM :schema.runs WHERE ${MARKED}) AND number = $3`;

const INSERT_STEP = `
  INSERT INTO :schema.steps (run, number, body) SELECT runs.number, $3, $4 FROM :schema.runs WHERE ${MARKED}`;

/** Nothing is inserted if the thread was deleted. */
const INSERT_CLAIMED_MESSAGE = `
  INSERT INTO :schema.messages (owner, ${MESSAGE_COLUMNS})
  SELECT runs.owner, $3, $4, $5, $6, $7
  FROM :schema.runs JOIN :schema.threads ON threads.id = runs.thread_id WHERE ${MARKED}`;

const INSERT_CLAIMED_LINK = `
  INSERT INTO :schema.thread_messages (thread, position, message)
  SELECT threads.number, threads.next_position + $3, :inserted_number
  FROM :schema.runs JOIN :schema.threads ON threads.id = runs.thread_id WHERE ${MARKED}`;

const USE_CLAIMED_THREAD = `
  UPDATE :schema.threads
  SET next_position = next_position + $3, used_ms = CASE WHEN used_ms < $4 THEN $4 ELSE used_ms END
  WHERE id = (SELECT runs.thread_id FROM :schema.runs WHERE ${MARKED})`;

/**
 * The state that the store keeps in memory for a run that this process has claimed. Only the holder adds steps and
 * events.
 */
export interface ClaimedRow {
  readonly number: number;
  readonly fence: number;
  readonly last_sequence: number;
  readonly steps: number;
}

/** Reads a ClaimedRow, if the claim is the run's latest one. */
export const FIND_CLAIMED = `
  SELECT runs.number, runs.fence, (SELECT count(*) FROM :schema.steps WHERE run = runs.number) AS steps,
    (SELECT coalesce(max(last_sequence), -1) FROM :schema.events WHERE run = runs.number) AS last_sequence
  FROM :schema.runs WHERE runs.id = $1 AND runs.holder = $2 AND runs.fence = $3`;

/** Reports whether a write ends the claim: no process works on the run in its new status. */
export function endsClaim({ run }: Pick<RunWrite, "run">): boolean {
  return run !== undefined && run.status !== RunStatus.IN_PROGRESS;
}

const REVISIONS = 2 ** 48;

/** Returns a revision, which marks a write. It is random, so that no two writes have the same one. */
export function createRevision(): number {
  return Math.floor(Math.random() * REVISIONS);
}

/**
 * Returns the statements of a write, and the index of the one that checks the claim: it changes a row only if the claim
 * is the run's latest one.
 * @param revision Marks the run, unless the write has only events.
 */
export function createWriteCalls(
  write: RunWrite,
  revision: number,
  { number, steps: known }: Pick<ClaimedRow, "number" | "steps">,
  bodies: Bodies,
): { readonly calls: readonly Call[]; readonly checking: number } {
  const { claim, run, events = [], steps = [], latestStep, messages = [] } = write;
  const { runId } = claim;
  const rows = bodies.writeEvents(runId, events);
  const claimed = [number, runId, claim.holderId, claim.fence];
  const [row] = rows;
  const parts = steps.length + messages.length + (run === undefined && latestStep === undefined ? 0 : 1);
  if (rows.length === 1 && row !== undefined && parts === 0)
    return {
      calls: [{ text: APPEND_EVENTS, values: [...claimed, row.last_sequence, row.body] }],
      checking: 0,
    };
  const marked = (text: string, ...rest: Value[]): Call => ({ text, values: [number, revision, ...rest] });
  const calls: Call[] = [];
  if (messages.length > 0) calls.push({ text: LOCK_CLAIMED_THREAD, values: [number], onlyLocks: true });
  const checking = calls.length;
  const mark = [...claimed, revision, messages.length];
  if (run === undefined) calls.push({ text: MARK_RUN, values: mark });
  else {
    const flags = [run.cancelRequested ? 1 : 0, endsClaim(write) ? 1 : 0];
    const values = [...mark, run.status, getOverTime(run), bodies.writeRun(run), ...flags];
    calls.push({ text: UPDATE_RUN, values });
  }
  for (const { last_sequence, body } of rows) calls.push(marked(INSERT_CLAIMED_EVENTS, last_sequence, body));
  if (latestStep !== undefined)
    calls.push(marked(REPLACE_STEP, known, bodies.writeStep(runId, known, latestStep)));
  for (const [index, step] of steps.entries()) {
    const at = known + index + 1;
    calls.push(marked(INSERT_STEP, at, bodies.writeStep(runId, at, step)));
  }
  for (const [index, message] of messages.entries()) {
    const values = toMessageValues(message, bodies);
    calls.push(marked(INSERT_CLAIMED_MESSAGE, ...values), marked(INSERT_CLAIMED_LINK, index));
  }
  if (messages.length > 0) calls.push(marked(USE_CLAIMED_THREAD, messages.length, getLatestTime(messages)));
  return { calls, checking };
}
