/** Statements that read runs, events and messages, and the pages of lists. */
import { invalidField } from "../../core/errors.ts";
import type { Run, RunEvent } from "../../gen/outrigger/v1/run_pb.ts";
import type { MessageQuery, Page, RunQuery, StoredMessage } from "../store.ts";
import {
  type Bodies,
  type EventRow,
  type MessageRow,
  RUN_COLUMNS,
  type RunRow,
  STORED_RUN_COLUMNS,
} from "./bodies.ts";
import { type Driver, definePage } from "./driver.ts";
import { IS_OPEN, IS_QUEUED, IS_QUEUED_OR_RUNNING } from "./schema.ts";

/** Maximum number of rows of events in one read, and of their bytes. */
const MAX_EVENT_ROWS = 256;
const MAX_EVENT_BYTES = 1024 * 1024;

/** Maximum number of bytes in a page of messages: otherwise it could have a hundred messages of the largest size. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** The end is the largest INTEGER of PostgreSQL. */
const ALL_POSITIONS = { start_position: 0, end_position: 2 ** 31 - 1 };

export const GET_RUN = `SELECT ${STORED_RUN_COLUMNS} FROM :schema.runs WHERE runs.id = $1 AND runs.owner = $2`;

export const FIND_LATEST_RUN = `
  SELECT ${STORED_RUN_COLUMNS} FROM :schema.runs WHERE runs.thread_id = $1 AND runs.owner = $2
  ORDER BY runs.number DESC LIMIT 1`;

export const REQUEST_CANCEL = `
  UPDATE :schema.runs SET cancel_requested = CASE WHEN ${IS_OPEN} THEN 1 ELSE cancel_requested END
  WHERE runs.id = $1 AND runs.owner = $2 RETURNING ${STORED_RUN_COLUMNS}`;

export const READ_STEPS = `
  SELECT steps.number, steps.body FROM :schema.steps
  WHERE steps.run = (SELECT number FROM :schema.runs WHERE id = $1) ORDER BY steps.number`;

/** Returns a row if a run is queued. */
export const FIND_QUEUED = `SELECT 1 FROM :schema.runs WHERE ${IS_QUEUED} LIMIT 1`;

export const COUNT_QUEUED = `
  SELECT (SELECT count(*) FROM :schema.runs WHERE ${IS_QUEUED}) AS total,
    (SELECT count(*) FROM :schema.runs WHERE owner = $1 AND ${IS_QUEUED}) AS owner`;

/** The runs in progress, with the size of what was stored for them. */
export const FIND_QUEUED_OR_RUNNING = `
  SELECT runs.id, octet_length(runs.body)
    + coalesce((SELECT octet_length(requests.body) FROM :schema.requests WHERE requests.run = runs.number), 0)
    + coalesce((SELECT sum(octet_length(events.body)) FROM :schema.events WHERE events.run = runs.number), 0)
    + coalesce((
      SELECT sum(octet_length(messages.body))
      FROM :schema.threads
        JOIN :schema.thread_messages ON thread_messages.thread = threads.number
          AND thread_messages.position >= runs.start_position AND thread_messages.position < runs.end_position
        JOIN :schema.messages ON messages.number = thread_messages.message
      WHERE threads.id = runs.thread_id), 0) AS bytes
  FROM :schema.runs WHERE ${IS_QUEUED_OR_RUNNING}`;

export const GET_THREAD = `SELECT body FROM :schema.threads WHERE id = $1 AND owner = $2`;

export const UPDATE_THREAD = `UPDATE :schema.threads SET body = $3 WHERE id = $1 AND owner = $2`;

/** If $3 is not empty, only if the message is in that thread. */
export const GET_MESSAGE = `
  SELECT id, body FROM :schema.messages
  WHERE id = $1 AND owner = $2 AND ($3 = '' OR EXISTS (
    SELECT 1 FROM :schema.thread_messages JOIN :schema.threads ON threads.number = thread_messages.thread
    WHERE thread_messages.message = messages.number AND threads.id = $3))`;

/** The latest message whose first tool call has this id. */
export const FIND_CALL = `
  SELECT id, body FROM :schema.messages WHERE owner = $1 AND call_id = $2 ORDER BY number DESC LIMIT 1`;

export const READ_HISTORY_OF_RUN = `
  SELECT messages.id, messages.body
  FROM :schema.runs JOIN :schema.threads ON threads.id = runs.thread_id
    JOIN :schema.thread_messages
      ON thread_messages.thread = threads.number AND thread_messages.position < runs.start_position
    JOIN :schema.messages ON messages.number = thread_messages.message
  WHERE runs.id = $1
  ORDER BY thread_messages.position`;

/** The bytes of the messages up to the end of run $1, or of thread $2, and the bytes of the run. */
export const MEASURE_CONVERSATION = `
  SELECT coalesce(sum(octet_length(messages.body)), 0) AS messages, coalesce((
    SELECT octet_length(runs.body)
      + coalesce((SELECT octet_length(requests.body) FROM :schema.requests WHERE requests.run = runs.number), 0)
      + coalesce((SELECT sum(octet_length(steps.body)) FROM :schema.steps WHERE steps.run = runs.number), 0)
    FROM :schema.runs WHERE runs.id = $1 AND runs.owner = $3), 0) AS run
  FROM (
    SELECT threads.number, runs.end_position
    FROM :schema.runs JOIN :schema.threads ON threads.id = runs.thread_id
    WHERE runs.id = $1 AND runs.owner = $3
    UNION ALL
    SELECT number, next_position FROM :schema.threads WHERE id = $2 AND owner = $3
  ) AS continued
    JOIN :schema.thread_messages
      ON thread_messages.thread = continued.number AND thread_messages.position < continued.end_position
    JOIN :schema.messages ON messages.number = thread_messages.message`;

/** $4: the owner of the run. NULL: every owner. */
const READ_EVENTS = definePage(
  "last_sequence",
  "body",
  `FROM :schema.events
  WHERE run = (SELECT number FROM :schema.runs WHERE id = $1 AND owner = coalesce($4, owner))
    AND last_sequence > $2
  ORDER BY last_sequence LIMIT $3`,
  "last_sequence",
);

/** Some events of a run. */
export interface EventRange {
  readonly runId: string;
  readonly afterSequence: number;
  readonly maxEvents: number;
  /** Undefined: runs of every owner. */
  readonly owner?: string | undefined;
}

/** Reads the events of a run after a sequence number. */
export async function readEvents(
  driver: Driver,
  { runId, afterSequence, maxEvents, owner }: EventRange,
  bodies: Bodies,
): Promise<RunEvent[]> {
  const values = [runId, afterSequence, Math.min(maxEvents, MAX_EVENT_ROWS), owner ?? null];
  const { rows } = await driver.readPage<EventRow>(READ_EVENTS, values, MAX_EVENT_BYTES);
  const events = rows.flatMap((row) => bodies.readEvents(runId, row));
  // The first row may begin before the requested event.
  return events.filter(({ sequence }) => sequence > afterSequence).slice(0, maxEvents);
}

const FIND_RUN_NUMBER = `
  SELECT number FROM :schema.runs WHERE id = $1 AND owner = $2 AND ($3 = '' OR thread_id = $3)`;

/** Beyond the number of every run. */
const LAST_NUMBER = Number.MAX_SAFE_INTEGER;

/** Reads a page of the runs of an owner. */
export async function listRuns(
  driver: Driver,
  owner: string,
  { threadId, statuses, after, limit }: RunQuery,
  bodies: Bodies,
): Promise<Page<Run>> {
  let start = LAST_NUMBER;
  if (after !== "") {
    const [row] = await driver.read<{ number: number }>(FIND_RUN_NUMBER, [after, owner, threadId]);
    if (row === undefined) throw invalidField("after", "expected the id of a run of the list");
    start = row.number;
  }
  const distinct = [...new Set<number>(statuses)];
  const values = [owner, start, limit + 1, ...(threadId === "" ? [] : [threadId]), ...distinct];
  const rows = await driver.read<RunRow>(createListText(threadId !== "", distinct.length), values);
  const elements = rows.slice(0, limit).map((row) => bodies.readRun(row));
  return { elements, hasMore: rows.length > limit };
}

/**
 * Returns the statement of a list. Each status is read from the index by status, but the runs of a thread always from
 * the index by thread.
 */
function createListText(isOfThread: boolean, statusCount: number): string {
  const select = (condition: string) => `
    SELECT ${RUN_COLUMNS} FROM :schema.runs
    WHERE runs.owner = $1 AND runs.number < $2 ${condition} ORDER BY runs.number DESC LIMIT $3`;
  const names = (first: number) => Array.from({ length: statusCount }, (_, index) => `$${first + index}`);
  if (isOfThread) {
    const among = statusCount === 0 ? "" : `AND runs.status + 0 IN (${names(5).join(", ")})`;
    return select(`AND runs.thread_id = $4 ${among}`);
  }
  if (statusCount === 0) return select("");
  const lists = names(4).map(
    (name, index) => `SELECT * FROM (${select(`AND runs.status = ${name}`)}) AS list${index}`,
  );
  return lists.length === 1
    ? select("AND runs.status = $4")
    : `${lists.join(" UNION ALL ")} ORDER BY number DESC LIMIT $3`;
}

/** The messages of thread $1 of owner $3. If $2 is not empty, only the input of that run. */
const OF_THREAD = `
  FROM :schema.threads
    JOIN :schema.thread_messages ON thread_messages.thread = threads.number
    JOIN :schema.messages ON messages.number = thread_messages.message
  WHERE threads.id = $1 AND threads.owner = $3
    AND ($2 = '' OR (messages.run_id = $2 AND messages.is_output = 0))`;

const FIND_POSITION = `SELECT thread_messages.position ${OF_THREAD} AND messages.id = $4`;

const FIND_RUN_RANGE = `
  SELECT thread_id, start_position, end_position FROM :schema.runs WHERE id = $1 AND owner = $2`;

function defineMessagePage(bounds: string, direction: string) {
  const rest = `${OF_THREAD} AND ${bounds} ORDER BY ${POSITION} ${direction} LIMIT $6`;
  return definePage(`${POSITION}, messages.id`, "messages.body", rest, `position ${direction}`);
}

const POSITION = "thread_messages.position";

const LIST_OLDEST_FIRST = defineMessagePage(`${POSITION} > $4 AND ${POSITION} < $5`, "ASC");

const LIST_LATEST_FIRST = defineMessagePage(`${POSITION} < $4 AND ${POSITION} >= $5`, "DESC");

/** Reads a page of the messages of a thread, or of the input of a run. */
export async function listMessages(
  driver: Driver,
  owner: string,
  { threadId = "", inputRunId = "", order, after, limit }: MessageQuery,
  bodies: Bodies,
): Promise<Page<StoredMessage>> {
  let range: Pick<RunRow, "thread_id" | "start_position" | "end_position"> | undefined;
  if (inputRunId === "") range = { thread_id: threadId, ...ALL_POSITIONS };
  else [range] = await driver.read<RunRow>(FIND_RUN_RANGE, [inputRunId, owner]);
  if (range === undefined) return { elements: [], hasMore: false };
  const list = [range.thread_id, inputRunId, owner];
  const { start_position: first, end_position: end } = range;
  let start: number | undefined;
  if (after !== "") {
    const [row] = await driver.read<{ position: number }>(FIND_POSITION, [...list, after]);
    if (row === undefined) throw invalidField("after", "expected the id of a message of the list");
    start = row.position;
  }
  const isOldestFirst = order === "oldest first";
  const bounds = isOldestFirst ? [start ?? first - 1, end] : [start ?? end, first];
  const page = isOldestFirst ? LIST_OLDEST_FIRST : LIST_LATEST_FIRST;
  const found = await driver.readPage<MessageRow>(page, [...list, ...bounds, limit + 1], MAX_PAGE_BYTES);
  const elements = found.rows.slice(0, limit).map((row) => bodies.readMessage(row));
  return { elements, hasMore: found.hasMore || found.rows.length > limit };
}
