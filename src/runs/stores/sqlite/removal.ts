/** Removes runs and threads, with what nothing else needs. */
import { integer, text } from "./columns.ts";
import type { RunRow, Tables } from "./run-rows.ts";
import { findLatestRun, findThread, type ThreadRow } from "./threads.ts";

const DELETE_RUN = "DELETE FROM runs WHERE number = ?";
const DELETE_THREAD = "DELETE FROM threads WHERE number = ?";
/** What deleted runs added to the end of a thread, where no run reads it any more. */
const DELETE_END = `DELETE FROM thread_messages WHERE thread = ? AND position >= ? AND EXISTS (
  SELECT 1 FROM messages WHERE number = thread_messages.message AND run_id <> ''
    AND NOT EXISTS (SELECT 1 FROM runs WHERE id = messages.run_id))`;
/** Where it was the latest run of its thread. Numbers of removed runs are given again. */
const REMOVE_LATEST = `UPDATE threads
  SET latest_run = (SELECT max(number) FROM runs WHERE runs.thread_id = threads.id) WHERE id = ? AND latest_run = ?`;
const SELECT_LAST_POSITION = `SELECT position FROM thread_messages WHERE thread = ?
  ORDER BY position DESC LIMIT 1`;
const SET_NEXT_POSITION = "UPDATE threads SET next_position = ? WHERE number = ?";
const SELECT_OVER = "SELECT number, id, thread_id FROM runs WHERE over_ms < ? ORDER BY over_ms";
const SELECT_UNUSED = `SELECT number FROM threads WHERE is_conversation = 1 AND used_ms < ?
  AND NOT EXISTS (SELECT 1 FROM runs WHERE thread_id = threads.id AND over_ms IS NULL)
  ORDER BY used_ms LIMIT ?`;

/** A run to remove. */
export type RemovedRun = Pick<RunRow, "number" | "threadId">;

/** Removes a run, in a transaction. */
export function deleteRun(tables: Tables, { number, threadId }: RemovedRun): void {
  tables.database.change(DELETE_RUN, number);
  tables.database.change(REMOVE_LATEST, threadId, number);
  const thread = findThread(tables, threadId);
  if (thread !== undefined && !thread.isConversation) trimThread(tables, thread, threadId);
}

/** Removes the end of a thread that no run is left to read, or the thread with its last run. */
function trimThread(tables: Tables, thread: ThreadRow, threadId: string): void {
  const { database } = tables;
  const latest = findLatestRun(tables, threadId);
  if (latest === undefined) {
    database.change(DELETE_THREAD, thread.number);
    return;
  }
  database.change(DELETE_END, thread.number, latest.startPosition);
  const last = database.first(SELECT_LAST_POSITION, thread.number);
  const end = last === undefined ? 0 : integer(last.position) + 1;
  database.change(SET_NEXT_POSITION, Math.max(end, latest.endPosition), thread.number);
}

/** The runs that are over since before a time and that nobody holds, the oldest first. */
export function findOldRuns(
  { database }: Tables,
  beforeMs: number,
  limit: number,
  isHeld: (runId: string) => boolean,
): (RemovedRun & { readonly id: string })[] {
  const found = [];
  for (const row of database.rows(SELECT_OVER, beforeMs)) {
    if (found.length >= limit) break;
    const id = text(row.id);
    if (!isHeld(id)) found.push({ number: integer(row.number), id, threadId: text(row.thread_id) });
  }
  return found;
}

/** Removes conversations that nothing was added to since a time. Returns how many. */
export function deleteOldConversations({ database }: Tables, beforeMs: number, limit: number): number {
  if (limit === 0) return 0;
  const found = database.all(SELECT_UNUSED, beforeMs, limit);
  for (const { number } of found) database.change(DELETE_THREAD, integer(number));
  return found.length;
}
