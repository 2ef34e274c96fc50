/** Messages, and the threads that have them. */
import { invalidField } from "../../../core/errors.ts";
import type { Message } from "../../../gen/outrigger/v1/message_pb.ts";
import { type ThreadMessage, ThreadMessageSchema } from "../../../gen/outrigger/v1/thread_pb.ts";
import type { MessageQuery, Page } from "../../store.ts";
import type { BodyCodec } from "../body-codec.ts";
import { firstCallId } from "../first-call-id.ts";
import { MAX_PAGE_BYTES } from "../page-bytes.ts";
import { blob, integer, text } from "./columns.ts";
import type { Row } from "./database.ts";
import { createdTimeOf, type Tables } from "./run-rows.ts";

const INSERT_MESSAGE =
  "INSERT INTO messages (id, owner, run_id, is_output, call_id, body) VALUES (?, ?, ?, ?, ?, ?)";
const INSERT_LINK = "INSERT INTO thread_messages (thread, position, message) VALUES (?, ?, ?)";
const SELECT_MESSAGE = "SELECT id, body FROM messages WHERE id = ? AND owner = ?";
const SELECT_CALL =
  "SELECT id, body FROM messages WHERE owner = ? AND call_id = ? ORDER BY number DESC LIMIT 1";
const SELECT_LINK = `SELECT position FROM thread_messages
  WHERE message = (SELECT number FROM messages WHERE id = ? AND owner = ?)
    AND thread = (SELECT number FROM threads WHERE id = ?)`;
const DELETE_LINK = `DELETE FROM thread_messages
  WHERE message = (SELECT number FROM messages WHERE id = ? AND owner = ?)
    AND thread = (SELECT number FROM threads WHERE id = ?)`;
const SELECT_INPUT = `SELECT position FROM thread_messages
  WHERE message = (SELECT number FROM messages WHERE id = ?1 AND owner = ?2 AND run_id = ?3 AND is_output = 0)
    AND thread = (SELECT number FROM threads WHERE id = (SELECT thread_id FROM runs WHERE id = ?3))`;
const USE_THREAD = "UPDATE threads SET next_position = ?, used_ms = max(used_ms, ?) WHERE number = ?";
const SELECT_HISTORY = `SELECT messages.id, messages.body FROM thread_messages
  JOIN messages ON messages.number = thread_messages.message
  WHERE thread_messages.thread = ? AND thread_messages.position < ? ORDER BY thread_messages.position`;

/** The messages of a thread, from a position on in one direction. */
const SELECT_OF_THREAD = {
  "oldest first": pageOfThread(">", "ASC"),
  "latest first": pageOfThread("<", "DESC"),
};

/** The input of a run, likewise. */
const SELECT_INPUT_OF_RUN = {
  "oldest first": pageOfInput(">", "ASC"),
  "latest first": pageOfInput("<", "DESC"),
};

/** Before the first element of a list in either direction. */
const BEGINNING = { "oldest first": -1, "latest first": Number.MAX_SAFE_INTEGER };

/** Appends messages to a thread. Returns the position after them. */
export function addMessages(
  { database, codec }: Tables,
  thread: { readonly number: number; readonly owner: string; readonly nextPosition: number },
  messages: readonly ThreadMessage[],
): number {
  let position = thread.nextPosition;
  for (const message of messages) {
    const body = codec.write(ThreadMessageSchema, message, messagePlace(message.id));
    const isOutput = message.isOutput ? 1 : 0;
    const { inserted } = database.change(
      INSERT_MESSAGE,
      message.id,
      thread.owner,
      message.runId,
      isOutput,
      firstCallId(message) ?? null,
      body,
    );
    database.change(INSERT_LINK, thread.number, position, inserted);
    position += 1;
  }
  const latest = Math.max(0, ...messages.slice(-1).map(createdTimeOf));
  if (messages.length > 0) database.change(USE_THREAD, position, latest, thread.number);
  return position;
}

/** The messages of a thread before a position. */
export function readHistory({ database, codec }: Tables, thread: number, end: number): Message[] {
  return database.all(SELECT_HISTORY, thread, end).flatMap((row) => messageOf(row, codec).message ?? []);
}

/** A message by its id. */
export function findMessage(
  { database, codec }: Tables,
  owner: string,
  id: string,
): ThreadMessage | undefined {
  const row = database.first(SELECT_MESSAGE, id, owner);
  return row && messageOf(row, codec);
}

/** The latest message whose first tool call has this id. */
export function findCall(
  { database, codec }: Tables,
  owner: string,
  toolCallId: string,
): ThreadMessage | undefined {
  const row = database.first(SELECT_CALL, owner, toolCallId);
  return row && messageOf(row, codec);
}

/** Removes a message from a thread. */
export function deleteMessage({ database }: Tables, owner: string, threadId: string, id: string): boolean {
  return database.change(DELETE_LINK, id, owner, threadId).changes > 0;
}

/** A page of the messages of a thread, or of the input of a run. */
export function listMessages(tables: Tables, owner: string, query: MessageQuery): Page<ThreadMessage> {
  const { database, codec } = tables;
  const { threadId, inputOfRunId = "", order, limit } = query;
  const [sql, id] =
    threadId === undefined ? [SELECT_INPUT_OF_RUN[order], inputOfRunId] : [SELECT_OF_THREAD[order], threadId];
  const elements: ThreadMessage[] = [];
  let bytes = 0;
  for (const row of database.rows(sql, id, owner, startOf(tables, owner, query), limit + 1)) {
    bytes += blob(row.body).byteLength;
    const isFull = elements.length === limit || (elements.length > 0 && bytes > MAX_PAGE_BYTES);
    if (isFull) return { elements, hasMore: true };
    elements.push(messageOf(row, codec));
  }
  return { elements, hasMore: false };
}

/** The position of the last message of the page before. */
function startOf({ database }: Tables, owner: string, query: MessageQuery): number {
  const { after, threadId, inputOfRunId = "", order } = query;
  if (after === "") return BEGINNING[order];
  const row =
    threadId === undefined
      ? database.first(SELECT_INPUT, after, owner, inputOfRunId)
      : database.first(SELECT_LINK, after, owner, threadId);
  if (row === undefined) throw invalidField("after", "expected the id of a message of the list");
  return integer(row.position);
}

function pageOfThread(comparison: string, direction: string): string {
  return `SELECT messages.id, messages.body FROM thread_messages
    JOIN messages ON messages.number = thread_messages.message
    WHERE thread_messages.thread = (SELECT number FROM threads WHERE id = ? AND owner = ?)
      AND thread_messages.position ${comparison} ? ORDER BY thread_messages.position ${direction} LIMIT ?`;
}

/** The input is among the messages that were added to the thread while the run was the latest. */
function pageOfInput(comparison: string, direction: string): string {
  return `SELECT messages.id, messages.body FROM runs
    JOIN threads ON threads.id = runs.thread_id
    JOIN thread_messages ON thread_messages.thread = threads.number
      AND thread_messages.position BETWEEN runs.start_position AND runs.end_position - 1
    JOIN messages ON messages.number = thread_messages.message
    WHERE runs.id = ? AND runs.owner = ? AND messages.run_id = runs.id AND messages.is_output = 0
      AND thread_messages.position ${comparison} ? ORDER BY thread_messages.position ${direction} LIMIT ?`;
}

function messageOf(row: Row, codec: BodyCodec): ThreadMessage {
  return codec.read(ThreadMessageSchema, blob(row.body), messagePlace(text(row.id)));
}

function messagePlace(id: string): string {
  return `message ${id}`;
}
