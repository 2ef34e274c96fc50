/**
 * Removes runs, threads and messages. A message can be in a thread and in its forks: it goes with its last place. The
 * steps and events of a run, and the places of a thread, go with it by the foreign keys.
 */
import type { Queries, Statement } from "./database.ts";
import { NOW } from "./run-rows.ts";

const FIND_RUN: Statement = {
  name: "find_run_to_remove",
  text: `SELECT id, thread_id FROM :schema.runs WHERE id = $1 AND owner = $2`,
};

/** Those that others remove at the same time are skipped. Status 3 is REQUIRES_ACTION, which a process may hold. */
const LOCK_OLD_RUNS: Statement = {
  name: "lock_old_runs",
  text: `
    SELECT id, thread_id FROM :schema.runs
    WHERE idle_since < $1 AND (lease_until IS NULL OR lease_until < ${NOW})
    ORDER BY idle_since LIMIT $2 FOR UPDATE SKIP LOCKED`,
};

const REMOVE_RUNS: Statement = {
  name: "remove_runs",
  text: `DELETE FROM :schema.runs WHERE id = ANY ($1::text[]) RETURNING id`,
};

const LOCK_THREADS: Statement = {
  name: "lock_threads_to_trim",
  text: `
    SELECT id FROM :schema.threads WHERE id = ANY ($1::text[]) AND NOT is_conversation ORDER BY id FOR UPDATE`,
};

/** Cuts off the messages behind the last run that is left. What is before is what that run reads, or its own. */
const TRIM_THREADS: Statement = {
  name: "trim_threads",
  text: `
    WITH remaining AS (
      SELECT thread.id, coalesce(max(run.end_position), 0) AS end_position
      FROM unnest($1::text[]) AS thread (id) LEFT JOIN :schema.runs AS run ON run.thread_id = thread.id
      GROUP BY thread.id
    ), trimmed AS (
      UPDATE :schema.threads AS thread SET next_position = remaining.end_position
      FROM remaining WHERE thread.id = remaining.id
    )
    DELETE FROM :schema.thread_messages AS place USING remaining
    WHERE place.thread_id = remaining.id AND place.position >= remaining.end_position
    RETURNING place.message_id AS id`,
};

/** Threads that runs created go with their last run. */
const REMOVE_EMPTY_THREADS: Statement = {
  name: "remove_empty_threads",
  text: `
    DELETE FROM :schema.threads AS thread
    WHERE id = ANY ($1::text[])
      AND NOT EXISTS (SELECT 1 FROM :schema.runs AS run WHERE run.thread_id = thread.id)`,
};

const LOCK_OLD_CONVERSATIONS: Statement = {
  name: "lock_old_conversations",
  text: `
    SELECT id FROM :schema.threads AS thread
    WHERE is_conversation AND last_added_at < $1
      AND NOT EXISTS (
        SELECT 1 FROM :schema.runs AS run WHERE run.thread_id = thread.id AND run.status IN (1, 2))
    ORDER BY last_added_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
};

const LOCK_OWN_THREAD: Statement = {
  name: "lock_thread_to_remove",
  text: `SELECT id FROM :schema.threads WHERE id = $1 AND owner = $2 FOR UPDATE`,
};

const REMOVE_PLACES: Statement = {
  name: "remove_places",
  text: `
    DELETE FROM :schema.thread_messages WHERE thread_id = ANY ($1::text[]) RETURNING message_id AS id`,
};

const REMOVE_THREADS: Statement = {
  name: "remove_threads",
  text: `DELETE FROM :schema.threads WHERE id = ANY ($1::text[])`,
};

const REMOVE_PLACE: Statement = {
  name: "remove_place",
  text: `
    DELETE FROM :schema.thread_messages WHERE thread_id = $1 AND message_id = $2 RETURNING message_id AS id`,
};

const LOCK_MESSAGES: Statement = {
  name: "lock_messages",
  text: `SELECT 1 FROM :schema.messages WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE`,
};

const REMOVE_UNPLACED: Statement = {
  name: "remove_unplaced_messages",
  text: `
    DELETE FROM :schema.messages AS message
    WHERE id = ANY ($1::text[])
      AND NOT EXISTS (SELECT 1 FROM :schema.thread_messages AS place WHERE place.message_id = message.id)`,
};

interface Identified {
  readonly id: string;
}

/** A run and its thread. */
interface RunToRemove extends Identified {
  readonly thread_id: string;
}

/** Removes a run of an owner, inside of a transaction. Whether there was one. */
export async function removeRun(queries: Queries, owner: string, runId: string): Promise<boolean> {
  const runs = await queries.query<RunToRemove>(FIND_RUN, [runId, owner]);
  return (await removeRuns(queries, runs)) > 0;
}

/** Removes a thread of an owner, inside of a transaction. Whether there was one. */
export async function removeThread(queries: Queries, owner: string, threadId: string): Promise<boolean> {
  const threads = await queries.query<Identified>(LOCK_OWN_THREAD, [threadId, owner]);
  await removeThreads(queries, threads);
  return threads.length > 0;
}

/** Removes a message from a thread of an owner, inside of a transaction. Whether it was there. */
export async function removeMessage(
  queries: Queries,
  owner: string,
  threadId: string,
  messageId: string,
): Promise<boolean> {
  if ((await queries.query(LOCK_OWN_THREAD, [threadId, owner])).length === 0) return false;
  const removed = await queries.query<Identified>(REMOVE_PLACE, [threadId, messageId]);
  await removeUnplaced(queries, removed);
  return removed.length > 0;
}

/**
 * Removes old runs and conversations, at most `limit`, inside of a transaction.
 * @param before A time in milliseconds.
 * @returns How many.
 */
export async function removeOld(queries: Queries, before: number, limit: number): Promise<number> {
  const runs = await queries.query<RunToRemove>(LOCK_OLD_RUNS, [before, limit]);
  await removeRuns(queries, runs);
  if (runs.length === limit) return limit;
  const threads = await queries.query<Identified>(LOCK_OLD_CONVERSATIONS, [before, limit - runs.length]);
  await removeThreads(queries, threads);
  return runs.length + threads.length;
}

async function removeRuns(queries: Queries, runs: readonly RunToRemove[]): Promise<number> {
  if (runs.length === 0) return 0;
  const threadIds = [...new Set(runs.map(({ thread_id }) => thread_id))];
  const threads = idsOf(await queries.query<Identified>(LOCK_THREADS, [threadIds]));
  const { length } = await queries.query<Identified>(REMOVE_RUNS, [idsOf(runs)]);
  if (length > 0 && threads.length > 0) {
    const removed = await queries.query<Identified>(TRIM_THREADS, [threads]);
    await queries.query(REMOVE_EMPTY_THREADS, [threads]);
    await removeUnplaced(queries, removed);
  }
  return length;
}

async function removeThreads(queries: Queries, threads: readonly Identified[]): Promise<void> {
  if (threads.length === 0) return;
  const ids = idsOf(threads);
  const removed = await queries.query<Identified>(REMOVE_PLACES, [ids]);
  await queries.query(REMOVE_THREADS, [ids]);
  await removeUnplaced(queries, removed);
}

/**
 * Removes those of the messages that are in no thread any more. They are locked first, in a statement of its own: of two
 * transactions that each remove one of the last two places, the second one then sees what the first one did.
 */
async function removeUnplaced(queries: Queries, messages: readonly Identified[]): Promise<void> {
  if (messages.length === 0) return;
  const ids = idsOf(messages);
  await queries.query(LOCK_MESSAGES, [ids]);
  await queries.query(REMOVE_UNPLACED, [ids]);
}

function idsOf(rows: readonly Identified[]): string[] {
  return rows.map(({ id }) => id);
}
