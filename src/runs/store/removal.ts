/**
 * Removes runs, threads and messages, many in one statement. A message can be in a thread and in its forks, and is
 * removed with its last position.
 */

import type { Queries } from "./driver.ts";
import { IS_FREE, IS_QUEUED_OR_RUNNING } from "./schema.ts";
import { LOCK_THREAD } from "./writes.ts";

const FIND_RUN = `SELECT number, id, thread_id FROM :schema.runs WHERE id = $1 AND owner = $2`;

/** Runs that are over since before $1 and that no process has claimed, the oldest first. */
const FIND_OLD_RUNS = `
  SELECT number, id, thread_id FROM :schema.runs
  WHERE over_ms < $1 AND ${IS_FREE} ORDER BY over_ms LIMIT $2`;

/** Conversations without additions since before $1. */
const FIND_OLD_CONVERSATIONS = `
  SELECT number FROM :schema.threads
  WHERE is_conversation = 1 AND used_ms < $1
    AND NOT EXISTS (
      SELECT 1 FROM :schema.runs
      WHERE runs.thread_id = threads.id AND runs.owner = threads.owner AND ${IS_QUEUED_OR_RUNNING})
  ORDER BY used_ms LIMIT $2 :skip_locked`;

/** Locks threads that runs created, always in the same order, so that transactions do not deadlock. */
const LOCK_THREADS = `
  SELECT number FROM :schema.threads WHERE id = :any_text($1) AND is_conversation = 0 ORDER BY number :for_update`;

const DELETE_RUNS = `DELETE FROM :schema.runs WHERE number = :any_number($1) RETURNING number, id`;

/** Deletes only runs that are still over: one may have been continued since it was found. */
const DELETE_OLD_RUNS = `
  DELETE FROM :schema.runs
  WHERE number = :any_number($1) AND over_ms < $2 AND ${IS_FREE} RETURNING number, id`;

/** Executed after the runs are deleted, so that nothing can be added meanwhile. */
const DELETE_PARTS = ["requests", "steps", "events"].map(
  (table) => `DELETE FROM :schema.${table} WHERE run = :any_number($1)`,
);

/** Ends each thread after its last run: the messages before that end are the ones that the run reads or has added. */
const TRIM_THREADS = `
  UPDATE :schema.threads SET next_position = coalesce((
    SELECT runs.end_position FROM :schema.runs
    WHERE runs.thread_id = threads.id AND runs.owner = threads.owner ORDER BY runs.number DESC LIMIT 1), 0)
  WHERE number = :any_number($1) RETURNING number, next_position`;

const DELETE_LINKS_FROM = `
  DELETE FROM :schema.thread_messages WHERE thread = $1 AND position >= $2 RETURNING message AS number`;

const DELETE_LINKS = `DELETE FROM :schema.thread_messages WHERE thread = :any_number($1) RETURNING message AS number`;

const DELETE_THREADS = `DELETE FROM :schema.threads WHERE number = :any_number($1)`;

const DELETE_LINK = `
  DELETE FROM :schema.thread_messages
  WHERE thread = $1 AND message = (SELECT number FROM :schema.messages WHERE id = $2) RETURNING message AS number`;

/**
 * A separate statement before the deletion: of two transactions that remove the last two positions of a message, the
 * second one then sees the changes of the first.
 */
const LOCK_MESSAGES = `
  SELECT 1 FROM :schema.messages WHERE number = :any_number($1) ORDER BY number :for_update`;

const DELETE_UNUSED_MESSAGES = `
  DELETE FROM :schema.messages
  WHERE number = :any_number($1)
    AND NOT EXISTS (SELECT 1 FROM :schema.thread_messages WHERE thread_messages.message = messages.number)`;

/**
 * Finds threads without runs. Their end at position 0 does not prove that: a run without input or answer ends there
 * too.
 */
const FIND_EMPTY = `
  SELECT number FROM :schema.threads
  WHERE number = :any_number($1)
    AND NOT EXISTS (
      SELECT 1 FROM :schema.runs WHERE runs.thread_id = threads.id AND runs.owner = threads.owner)`;

interface NumberedRow {
  readonly number: number;
}

/** A run to remove. */
interface RemovedRun extends NumberedRow {
  readonly id: string;
  readonly thread_id: string;
}

/**
 * Removes runs, and their threads with the last run, inside a transaction. Returns the ids of the runs that it removed.
 * @param before Set if only runs that are over since before this time may be removed, in milliseconds.
 */
async function removeRuns(queries: Queries, runs: readonly RemovedRun[], before?: number): Promise<string[]> {
  if (runs.length === 0) return [];
  const threadIds = [...new Set(runs.map(({ thread_id }) => thread_id))];
  const numbers = toNumbers(runs);
  const [threads, removed] = await Promise.all([
    queries.query<NumberedRow>(LOCK_THREADS, [threadIds]),
    before === undefined
      ? queries.query<Omit<RemovedRun, "thread_id">>(DELETE_RUNS, [numbers])
      : queries.query<Omit<RemovedRun, "thread_id">>(DELETE_OLD_RUNS, [numbers, before]),
  ]);
  const removedNumbers = [toNumbers(removed)];
  await Promise.all(DELETE_PARTS.map((text) => queries.query(text, removedNumbers)));
  if (threads.length > 0 && removed.length > 0) await trimThreads(queries, toNumbers(threads));
  return removed.map(({ id }) => id);
}

/** Removes a run of an owner, inside a transaction. Returns its id, or nothing if there is none. */
export async function removeRun(queries: Queries, owner: string, runId: string): Promise<string[]> {
  return removeRuns(queries, await queries.query<RemovedRun>(FIND_RUN, [runId, owner]));
}

/**
 * Removes the oldest runs that are over since before a time in milliseconds and then conversations without additions
 * since then, up to a limit, inside a transaction. Returns the ids of the runs and the number of conversations.
 */
export async function removeOldest(
  queries: Queries,
  before: number,
  limit: number,
): Promise<{ readonly runIds: readonly string[]; readonly threads: number }> {
  const runs = await queries.query<RemovedRun>(FIND_OLD_RUNS, [before, limit]);
  const runIds = await removeRuns(queries, runs, before);
  if (runs.length === limit) return { runIds, threads: 0 };
  const old = await queries.query<NumberedRow>(FIND_OLD_CONVERSATIONS, [before, limit - runs.length]);
  await removeThreads(queries, old);
  return { runIds, threads: old.length };
}

async function trimThreads(queries: Queries, threads: readonly number[]): Promise<void> {
  const trimmed = await queries.query<NumberedRow & { next_position: number }>(TRIM_THREADS, [threads]);
  const ends = trimmed.filter(({ next_position }) => next_position === 0);
  const found = ends.length === 0 ? [] : await queries.query<NumberedRow>(FIND_EMPTY, [toNumbers(ends)]);
  const empty = toNumbers(found);
  const links = await Promise.all(
    trimmed
      .filter(({ number }) => !empty.includes(number))
      .map(({ number, next_position }) =>
        queries.query<NumberedRow>(DELETE_LINKS_FROM, [number, next_position]),
      ),
  );
  await removeThreads(queries, found);
  await removeUnused(queries, links.flat());
}

/** Removes threads with their messages, inside a transaction. */
async function removeThreads(queries: Queries, threads: readonly NumberedRow[]): Promise<void> {
  if (threads.length === 0) return;
  const numbers = [toNumbers(threads)];
  const links = await queries.query<NumberedRow>(DELETE_LINKS, numbers);
  await queries.query(DELETE_THREADS, numbers);
  await removeUnused(queries, links);
}

/** Removes a thread of an owner, inside a transaction. False if there is none. */
export async function removeThread(queries: Queries, owner: string, threadId: string): Promise<boolean> {
  const threads = await queries.query<NumberedRow>(LOCK_THREAD, [threadId, owner]);
  await removeThreads(queries, threads);
  return threads.length > 0;
}

/** Removes a message from a thread of an owner, inside a transaction. False if it is not there. */
export async function removeMessage(
  queries: Queries,
  owner: string,
  threadId: string,
  messageId: string,
): Promise<boolean> {
  const [thread] = await queries.query<NumberedRow>(LOCK_THREAD, [threadId, owner]);
  if (thread === undefined) return false;
  const links = await queries.query<NumberedRow>(DELETE_LINK, [thread.number, messageId]);
  await removeUnused(queries, links);
  return links.length > 0;
}

/** @param messages Messages of which a position in a thread was removed. */
async function removeUnused(queries: Queries, messages: readonly NumberedRow[]): Promise<void> {
  if (messages.length === 0) return;
  const numbers = [toNumbers(messages)];
  await Promise.all([queries.query(LOCK_MESSAGES, numbers), queries.query(DELETE_UNUSED_MESSAGES, numbers)]);
}

function toNumbers(rows: readonly NumberedRow[]): number[] {
  return rows.map(({ number }) => number);
}
