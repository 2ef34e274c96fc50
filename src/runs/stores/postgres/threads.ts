/** Creates, changes and reads threads. */
import type { Thread, ThreadMessage } from "../../../gen/outrigger/v1/thread_pb.ts";
import type { Bodies } from "./bodies.ts";
import type { Database, Queries, Statement } from "./database.ts";
import { messageColumns } from "./run-rows.ts";

export const GET_THREAD: Statement = {
  name: "get_thread",
  text: `SELECT body FROM :schema.threads WHERE id = $1 AND owner = $2`,
};

const INSERT_THREAD: Statement = {
  name: "insert_thread",
  text: `
    INSERT INTO :schema.threads (id, owner, is_conversation, next_position, last_added_at, body)
    VALUES ($1, $2, $3, 0, $4, $5)`,
};

const UPDATE_THREAD: Statement = {
  name: "update_thread",
  text: `UPDATE :schema.threads SET body = $3 WHERE id = $1 AND owner = $2 RETURNING id`,
};

const LOCK_THREAD: Statement = {
  name: "lock_thread_to_append",
  text: `SELECT 1 FROM :schema.threads WHERE id = $1 AND owner = $2 FOR UPDATE`,
};

/** A run of the thread that is under way, or that a process holds. Status 3 is REQUIRES_ACTION. */
const FIND_RUN_UNDER_WAY: Statement = {
  name: "find_run_under_way",
  text: `
    SELECT 1 FROM :schema.runs
    WHERE thread_id = $1
      AND (status IN (1, 2)
        OR (status = 3 AND lease_until >= (extract(epoch FROM clock_timestamp()) * 1000)::bigint))
    LIMIT 1`,
};

const APPEND: Statement = {
  name: "append_messages",
  text: `
    WITH thread AS (
      UPDATE :schema.threads
      SET next_position = next_position + cardinality($3::text[]), last_added_at = greatest(last_added_at, $7)
      WHERE id = $1
      RETURNING next_position
    ), messages AS (
      INSERT INTO :schema.messages (id, owner, run_id, is_output, body, call_id)
      SELECT message.id, $2, message.run_id, message.is_output, message.body, message.call_id
      FROM unnest($3::text[], $4::text[], $5::boolean[], $6::bytea[], $8::text[])
          AS message (id, run_id, is_output, body, call_id)
    )
    INSERT INTO :schema.thread_messages (thread_id, position, message_id)
    SELECT $1, thread.next_position - cardinality($3::text[]) + message.number - 1, message.id
    FROM thread, unnest($3::text[]) WITH ORDINALITY AS message (id, number)`,
};

/** Creates a thread with messages. */
export async function createThread(
  database: Database,
  owner: string,
  thread: Thread,
  messages: readonly ThreadMessage[],
  createdAt: number,
  bodies: Bodies,
): Promise<void> {
  const values = [thread.id, owner, thread.isConversation, createdAt, bodies.writeThread(thread)];
  await database.transaction(async (queries) => {
    await queries.query(INSERT_THREAD, values);
    if (messages.length > 0) await append(queries, owner, thread.id, messages, bodies);
  });
}

/** Replaces what is known of a thread. */
export async function updateThread(
  queries: Queries,
  owner: string,
  thread: Thread,
  bodies: Bodies,
): Promise<boolean> {
  const rows = await queries.query(UPDATE_THREAD, [thread.id, owner, bodies.writeThread(thread)]);
  return rows.length > 0;
}

/** Appends messages to a thread, unless a run of it is under way. */
export async function appendMessages(
  database: Database,
  owner: string,
  threadId: string,
  messages: readonly ThreadMessage[],
  bodies: Bodies,
): Promise<"appended" | "busy" | "missing"> {
  return database.transaction(async (queries) => {
    if ((await queries.query(LOCK_THREAD, [threadId, owner])).length === 0) return "missing";
    // Only now, with the lock: the statement before does not see a run that it waited for.
    if ((await queries.query(FIND_RUN_UNDER_WAY, [threadId])).length > 0) return "busy";
    await append(queries, owner, threadId, messages, bodies);
    return "appended";
  });
}

async function append(
  queries: Queries,
  owner: string,
  threadId: string,
  messages: readonly ThreadMessage[],
  bodies: Bodies,
): Promise<void> {
  const { ids, runIds, areOutput, callIds, bodies: encoded, latest } = messageColumns(messages, bodies);
  await queries.query(APPEND, [threadId, owner, ids, runIds, areOutput, encoded, latest, callIds]);
}
