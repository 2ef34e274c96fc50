/** Reads runs, and notes that they are to be cancelled. */
import type { StepResult } from "../../../gen/outrigger/v1/generation_pb.ts";
import type { Run } from "../../../gen/outrigger/v1/run_pb.ts";
import type { Page, RunQuery } from "../../store.ts";
import type { Bodies } from "./bodies.ts";
import type { Queries, Statement } from "./database.ts";
import { pageOf, unknownCursor } from "./messages.ts";
import { RUN_COLUMNS, type RunRow, runOf, STORED_RUN_COLUMNS } from "./run-rows.ts";

export const GET_RUN: Statement = {
  name: "get_run",
  text: `SELECT ${STORED_RUN_COLUMNS} FROM :schema.runs WHERE id = $1 AND owner = $2`,
};

/** Runs that are over, that is beyond status 3, stay as they are. */
export const REQUEST_CANCEL: Statement = {
  name: "request_cancel",
  text: `
    UPDATE :schema.runs SET cancel_requested = cancel_requested OR status <= 3
    WHERE id = $1 AND owner = $2
    RETURNING ${STORED_RUN_COLUMNS}`,
};

/** Status 1 is QUEUED. */
export const COUNT_QUEUED: Statement = {
  name: "count_queued",
  text: "SELECT count(*) AS count FROM :schema.runs WHERE status = 1",
};

const READ_STEPS: Statement = {
  name: "read_steps",
  text: "SELECT number, body FROM :schema.steps WHERE run_id = $1 ORDER BY number",
};

/** Whatever the status: it may have changed since the page before. */
const FIND_CREATION: Statement = {
  name: "find_run_creation",
  text: `
    SELECT created_at, id FROM :schema.runs
    WHERE id = $1 AND owner = $2 AND ($3 = '' OR thread_id = $3)`,
};

/** A statement for each kind of query: one for all would have one plan for all. */
const LIST = listStatement("list_runs", "");
const LIST_THREAD = listStatement("list_runs_of_thread", "AND thread_id = $5");
const LIST_STATUSES = listStatement("list_runs_by_status", "AND status = ANY ($5::smallint[])");
const LIST_THREAD_STATUSES = listStatement(
  "list_runs_of_thread_by_status",
  "AND thread_id = $5 AND status = ANY ($6::smallint[])",
);

/** Where a page begins: after the run with this time and id. */
interface Cursor {
  readonly created_at: number;
  readonly id: string;
}

const FIRST_PAGE: Cursor = { created_at: Number.MAX_SAFE_INTEGER, id: "" };

function listStatement(name: string, condition: string): Statement {
  return {
    name,
    text: `
      SELECT ${RUN_COLUMNS} FROM :schema.runs
      WHERE owner = $1 AND (created_at, id) < ($2, $3) ${condition}
      ORDER BY created_at DESC, id DESC LIMIT $4`,
  };
}

/** The steps of a run, in order. */
export async function readSteps(queries: Queries, runId: string, bodies: Bodies): Promise<StepResult[]> {
  const rows = await queries.query<{ number: number; body: Uint8Array }>(READ_STEPS, [runId]);
  return rows.map(({ number, body }) => bodies.readStep(runId, number, body));
}

/** A page of the runs of an owner, the latest first. */
export async function listRuns(
  queries: Queries,
  owner: string,
  query: RunQuery,
  bodies: Bodies,
): Promise<Page<Run>> {
  const { threadId, statuses, after, limit } = query;
  const { created_at, id } = after === "" ? FIRST_PAGE : await findCursor(queries, owner, query);
  const page = [owner, created_at, id, limit + 1];
  const rows = await queries.query<RunRow>(statementOf(query), [
    ...page,
    ...(threadId === "" ? [] : [threadId]),
    ...(statuses.length === 0 ? [] : [statuses]),
  ]);
  return pageOf(rows, limit, (row) => runOf(row, bodies));
}

function statementOf({ threadId, statuses }: RunQuery): Statement {
  if (threadId === "") return statuses.length === 0 ? LIST : LIST_STATUSES;
  return statuses.length === 0 ? LIST_THREAD : LIST_THREAD_STATUSES;
}

async function findCursor(queries: Queries, owner: string, { after, threadId }: RunQuery): Promise<Cursor> {
  const [cursor] = await queries.query<Cursor>(FIND_CREATION, [after, owner, threadId]);
  if (cursor === undefined) throw unknownCursor(after);
  return cursor;
}
