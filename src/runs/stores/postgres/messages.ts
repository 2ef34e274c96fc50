/** Reads messages of threads. */
import { InvalidRequestError } from "../../../core/errors.ts";
import type { Message } from "../../../gen/outrigger/v1/message_pb.ts";
import type { ThreadMessage } from "../../../gen/outrigger/v1/thread_pb.ts";
import type { MessageQuery, Page } from "../../store.ts";
import { MAX_PAGE_BYTES } from "../page-bytes.ts";
import type { Bodies } from "./bodies.ts";
import type { Queries, Statement } from "./database.ts";

/** The messages of a thread before a position, in order. */
export const READ_HISTORY: Statement = {
  name: "read_history",
  text: `
    SELECT message.id, message.body
    FROM :schema.thread_messages AS place JOIN :schema.messages AS message ON message.id = place.message_id
    WHERE place.thread_id = $1 AND place.position < $2
    ORDER BY place.position`,
};

/** The messages that a run reads, in order. */
export const READ_HISTORY_OF_RUN: Statement = {
  name: "read_history_of_run",
  text: `
    SELECT message.id, message.body
    FROM :schema.runs AS run
      JOIN :schema.thread_messages AS place ON place.thread_id = run.thread_id AND place.position < run.position
      JOIN :schema.messages AS message ON message.id = place.message_id
    WHERE run.id = $1
    ORDER BY place.position`,
};

export const GET_MESSAGE: Statement = {
  name: "get_message",
  text: `SELECT id, body FROM :schema.messages WHERE id = $1 AND owner = $2`,
};

export const FIND_CALL: Statement = {
  name: "find_call",
  text: `
    SELECT message.id, message.body
    FROM :schema.messages AS message LEFT JOIN :schema.runs AS run ON run.id = message.run_id
    WHERE message.owner = $1 AND message.call_id = $2
    ORDER BY run.created_at DESC NULLS LAST
    LIMIT 1`,
};

/** The messages of thread $1; where $2 is not empty, only the input of that run. */
const FROM_THREAD = `
  FROM :schema.thread_messages AS place JOIN :schema.messages AS message ON message.id = place.message_id
  WHERE place.thread_id = $1 AND message.owner = $3
    AND ($2 = '' OR (message.run_id = $2 AND NOT message.is_output))`;

const FIND_POSITION: Statement = {
  name: "find_message_position",
  text: `SELECT place.position ${FROM_THREAD} AND message.id = $4`,
};

/** A page ends early where its bodies are large: `bytes` are those of the rows before, `total` counts all rows. */
function pageOfMessages(comparison: string, direction: string): string {
  return `
    SELECT id, body, total FROM (
      SELECT id, body, position, (count(*) OVER ())::int AS total,
        sum(octet_length(body)) OVER (ORDER BY position ${direction}) AS bytes
      FROM (
        SELECT message.id, message.body, place.position ${FROM_THREAD} AND place.position ${comparison} $4
        ORDER BY place.position ${direction} LIMIT $5
      ) AS page
    ) AS measured
    WHERE bytes <= ${MAX_PAGE_BYTES} OR bytes = octet_length(body)
    ORDER BY position ${direction}`;
}

const LIST_OLDEST_FIRST: Statement = {
  name: "list_messages_oldest_first",
  text: pageOfMessages(">", "ASC"),
};

const LIST_LATEST_FIRST: Statement = {
  name: "list_messages_latest_first",
  text: pageOfMessages("<", "DESC"),
};

const THREAD_OF_RUN: Statement = {
  name: "thread_of_run",
  text: `SELECT thread_id FROM :schema.runs WHERE id = $1 AND owner = $2`,
};

/** Beyond all positions: the highest INTEGER. */
const MAX_POSITION = 2 ** 31 - 1;

/** A row with a message. */
export interface MessageRow {
  readonly id: string;
  readonly body: Uint8Array;
}

/** A row of a page. */
interface ListedRow extends MessageRow {
  /** Rows that the page would have without its limit of bytes, and one more where there is one. */
  readonly total: number;
}

/** The messages of rows, without what is known of them beside. */
export function messagesOf(rows: readonly MessageRow[], bodies: Bodies): Message[] {
  return rows.flatMap(({ id, body }) => bodies.readMessage(id, body).message ?? []);
}

/** A page of the messages of a thread, or of the input of a run. */
export async function listMessages(
  queries: Queries,
  owner: string,
  query: MessageQuery,
  bodies: Bodies,
): Promise<Page<ThreadMessage>> {
  const { inputOfRunId = "", order, after, limit } = query;
  const threadId = inputOfRunId === "" ? query.threadId : await threadOfRun(queries, owner, inputOfRunId);
  if (threadId === undefined) return { elements: [], hasMore: false };
  const list = [threadId, inputOfRunId, owner];
  let start = order === "oldest first" ? -1 : MAX_POSITION;
  if (after !== "") {
    const [row] = await queries.query<{ position: number }>(FIND_POSITION, [...list, after]);
    if (row === undefined) throw unknownCursor(after);
    start = row.position;
  }
  const statement = order === "oldest first" ? LIST_OLDEST_FIRST : LIST_LATEST_FIRST;
  const rows = await queries.query<ListedRow>(statement, [...list, start, limit + 1]);
  const elements = rows.slice(0, limit).map(({ id, body }) => bodies.readMessage(id, body));
  return { elements, hasMore: (rows[0]?.total ?? 0) > elements.length };
}

/** A page of rows of which one more was read than the page has. */
export function pageOf<Row, Element>(
  rows: readonly Row[],
  limit: number,
  elementOf: (row: Row) => Element,
): Page<Element> {
  return { elements: rows.slice(0, limit).map(elementOf), hasMore: rows.length > limit };
}

/** The failure of a page that should begin after an element that the list does not have. */
export function unknownCursor(after: string): InvalidRequestError {
  const description = `found ${JSON.stringify(after.slice(0, 100))}, expected the id of an element of the list`;
  return new InvalidRequestError(`after: ${description}`, { violations: [{ field: "after", description }] });
}

async function threadOfRun(queries: Queries, owner: string, runId: string): Promise<string | undefined> {
  const [row] = await queries.query<{ thread_id: string }>(THREAD_OF_RUN, [runId, owner]);
  return row?.thread_id;
}
