/** Rows of threads. */
import { type Thread, ThreadSchema } from "../../../gen/outrigger/v1/thread_pb.ts";
import { blob, integer, text } from "./columns.ts";
import { createdTimeOf, RUN_COLUMNS, type RunRow, runRowOf, type Tables } from "./run-rows.ts";

/** A row of `threads`. */
export interface ThreadRow {
  readonly number: number;
  readonly owner: string;
  readonly isConversation: boolean;
  readonly nextPosition: number;
}

const INSERT_THREAD = `INSERT INTO threads (id, owner, is_conversation, used_ms, next_position, body)
  VALUES (?, ?, ?, ?, 0, ?)`;
const SELECT_THREAD = "SELECT number, owner, is_conversation, next_position FROM threads WHERE id = ?";
const SELECT_BODY = "SELECT body FROM threads WHERE id = ? AND owner = ?";
const UPDATE_BODY = "UPDATE threads SET body = ? WHERE id = ? AND owner = ?";
const DELETE_THREAD = "DELETE FROM threads WHERE id = ? AND owner = ?";
const SELECT_LATEST_RUN = `SELECT ${RUN_COLUMNS} FROM runs
  WHERE number = (SELECT latest_run FROM threads WHERE threads.id = ?)`;
const COPY_LINKS = `INSERT INTO thread_messages (thread, position, message)
  SELECT ?, position, message FROM thread_messages WHERE thread = ? AND position < ?`;
const SET_NEXT_POSITION = "UPDATE threads SET next_position = ? WHERE number = ?";

/** Adds a thread without messages. */
export function insertThread({ database, codec }: Tables, owner: string, thread: Thread): ThreadRow {
  const { id, isConversation } = thread;
  const body = codec.write(ThreadSchema, thread, threadPlace(id));
  const flag = isConversation ? 1 : 0;
  const { inserted } = database.change(INSERT_THREAD, id, owner, flag, createdTimeOf(thread), body);
  return { number: inserted, owner, isConversation, nextPosition: 0 };
}

/** Adds a thread with the messages of another one before a position. */
export function insertFork(tables: Tables, thread: Thread, from: ThreadRow, end: number): ThreadRow {
  const { database } = tables;
  const fork = insertThread(tables, from.owner, thread);
  database.change(COPY_LINKS, fork.number, from.number, end);
  database.change(SET_NEXT_POSITION, end, fork.number);
  return { ...fork, nextPosition: end };
}

/** The thread with that id, of any owner. */
export function findThread({ database }: Tables, threadId: string): ThreadRow | undefined {
  const row = database.first(SELECT_THREAD, threadId);
  return (
    row && {
      number: integer(row.number),
      owner: text(row.owner),
      isConversation: row.is_conversation === 1,
      nextPosition: integer(row.next_position),
    }
  );
}

/** The thread with that id, if it belongs to the owner. */
export function findOwnedThread(tables: Tables, owner: string, threadId: string): ThreadRow | undefined {
  const found = findThread(tables, threadId);
  return found?.owner === owner ? found : undefined;
}

/** The latest run of a thread. */
export function findLatestRun({ database, codec }: Tables, threadId: string): RunRow | undefined {
  const row = database.first(SELECT_LATEST_RUN, threadId);
  return row && runRowOf(row, codec);
}

/** A thread as its caller sees it. */
export function readThread({ database, codec }: Tables, owner: string, threadId: string): Thread | undefined {
  const row = database.first(SELECT_BODY, threadId, owner);
  return row && codec.read(ThreadSchema, blob(row.body), threadPlace(threadId));
}

/** Replaces the metadata of a thread. */
export function updateThread(tables: Tables, owner: string, { id, metadata }: Thread): boolean {
  const thread = readThread(tables, owner, id);
  if (thread === undefined) return false;
  const body = tables.codec.write(ThreadSchema, { ...thread, metadata }, threadPlace(id));
  return tables.database.change(UPDATE_BODY, body, id, owner).changes > 0;
}

/** Removes a thread, and the messages that no other one has. */
export function deleteThread({ database }: Tables, owner: string, threadId: string): boolean {
  return database.change(DELETE_THREAD, threadId, owner).changes > 0;
}

function threadPlace(id: string): string {
  return `thread ${id}`;
}
