/** Lists of runs. */
import { invalidField } from "../../../core/errors.ts";
import type { Run } from "../../../gen/outrigger/v1/run_pb.ts";
import type { Page, RunQuery } from "../../store.ts";
import { integer } from "./columns.ts";
import { createdTimeOf, RUN_COLUMNS, runRowOf, type Tables } from "./run-rows.ts";

/** Where a page begins: after the run with this time and id. */
interface Start {
  readonly createdMs: number;
  readonly id: string;
}

/** Before the first run of every list. */
const BEGINNING: Start = { createdMs: Number.MAX_SAFE_INTEGER, id: "" };

const SELECT_START = "SELECT created_ms FROM runs WHERE id = ? AND owner = ?";
const PAGE = "AND (created_ms, id) < (?, ?) ORDER BY created_ms DESC, id DESC LIMIT ?";
const SELECT_ALL = `SELECT ${RUN_COLUMNS} FROM runs WHERE owner = ? ${PAGE}`;
const SELECT_BY_STATUS = `SELECT ${RUN_COLUMNS} FROM runs WHERE owner = ? AND status = ? ${PAGE}`;
/** The unary plus keeps the owner, which is that of the thread, from the choice of the index. */
const SELECT_OF_THREAD = `SELECT ${RUN_COLUMNS} FROM runs WHERE thread_id = ? AND +owner = ? ${PAGE}`;
const SELECT_OF_THREAD_BY_STATUS = `SELECT ${RUN_COLUMNS} FROM runs
  WHERE thread_id = ? AND +owner = ? AND +status = ? ${PAGE}`;

/** A page of the runs of an owner. */
export function listRuns(tables: Tables, owner: string, query: RunQuery): Page<Run> {
  const { threadId, statuses, limit } = query;
  const start = startOf(tables, owner, query.after);
  const page = [start.createdMs, start.id, limit + 1];
  const lists =
    statuses.length === 0
      ? [
          threadId === ""
            ? runsOf(tables, SELECT_ALL, owner, ...page)
            : runsOf(tables, SELECT_OF_THREAD, threadId, owner, ...page),
        ]
      : [...new Set(statuses)].map((status) =>
          threadId === ""
            ? runsOf(tables, SELECT_BY_STATUS, owner, status, ...page)
            : runsOf(tables, SELECT_OF_THREAD_BY_STATUS, threadId, owner, status, ...page),
        );
  const found = lists.flat().sort(latestFirst);
  return { elements: found.slice(0, limit), hasMore: found.length > limit };
}

function runsOf({ database, codec }: Tables, sql: string, ...values: (string | number)[]): Run[] {
  return database.all(sql, ...values).map((row) => runRowOf(row, codec).run);
}

function startOf({ database }: Tables, owner: string, after: string): Start {
  if (after === "") return BEGINNING;
  const row = database.first(SELECT_START, after, owner);
  if (row === undefined) throw invalidField("after", "expected the id of a run of the list");
  return { createdMs: integer(row.created_ms), id: after };
}

function latestFirst(left: Run, right: Run): number {
  return createdTimeOf(right) - createdTimeOf(left) || (left.id < right.id ? 1 : -1);
}
