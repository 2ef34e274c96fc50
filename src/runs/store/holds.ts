/** Which process executes which run. Only processes have leases: a process that gives up a run cannot renew its hold. */
import { RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import { STORED_RUN_COLUMNS } from "./bodies.ts";
import { IS_QUEUED } from "./schema.ts";

const IS_ALIVE = `EXISTS (
  SELECT 1 FROM :schema.processes WHERE processes.id = runs.holder AND processes.alive_until >= :now)`;

/** 1 if a live process holds the run, otherwise 0. */
export const IS_HELD = `CASE WHEN ${IS_ALIVE} THEN 1 ELSE 0 END`;

/** The condition for a run that no live process holds. */
export const IS_FREE = `(runs.holder IS NULL OR NOT ${IS_ALIVE})`;

export const BEAT = `
  INSERT INTO :schema.processes (id, alive_until) VALUES ($1, :now + $2)
  ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until`;

export const FIND_CANCELLED = `SELECT id FROM :schema.runs WHERE holder = $1 AND cancel_requested = 1`;

/** Processes that died long ago. Their runs are free already. */
export const FORGET_PROCESSES = `DELETE FROM :schema.processes WHERE alive_until < :now - $1`;

export const LEAVE = `DELETE FROM :schema.processes WHERE id = $1`;

/** Parameters: the holder, the limit, the owners to leave out. Runs that another process is taking are skipped. */
export const TAKE_QUEUED = `
  WITH taken AS MATERIALIZED (
    SELECT runs.number FROM :schema.runs
    WHERE ${IS_QUEUED} AND ${IS_FREE} AND NOT runs.owner = :any_text($3)
    ORDER BY runs.number LIMIT $2 :skip_locked
  )
  UPDATE :schema.runs SET holder = $1, fence = fence + 1 FROM taken WHERE runs.number = taken.number
  RETURNING runs.fence, ${STORED_RUN_COLUMNS}`;

export const TAKE = `
  UPDATE :schema.runs SET holder = $2, fence = fence + 1
  WHERE id = $1 AND status IN (${RunStatus.QUEUED}, ${RunStatus.REQUIRES_ACTION}) AND ${IS_FREE}
  RETURNING runs.fence, ${STORED_RUN_COLUMNS}`;

/**
 * Parameters: the holder, the limit, the ids of its runs that it knows, and 1 if it takes those that it does not know. A
 * process whose sign of life is late never takes the runs that it executes from itself.
 */
export const TAKE_ABANDONED = `
  WITH taken AS MATERIALIZED (
    SELECT runs.number FROM :schema.runs
    WHERE runs.status = ${RunStatus.IN_PROGRESS}
      AND ((COALESCE(runs.holder, '') <> $1 AND ${IS_FREE})
        OR (runs.holder = $1 AND CAST($4 AS INTEGER) = 1 AND NOT runs.id = :any_text($3)))
    ORDER BY runs.number LIMIT $2 :skip_locked
  )
  UPDATE :schema.runs SET holder = $1, fence = fence + 1 FROM taken WHERE runs.number = taken.number
  RETURNING runs.fence, ${STORED_RUN_COLUMNS}`;

/** Frees abandoned runs that are not in progress: they are delivered again, or wait for their results. */
export const FREE_ABANDONED = `
  UPDATE :schema.runs SET holder = NULL, fence = fence + 1
  WHERE runs.holder IS NOT NULL AND runs.status <> ${RunStatus.IN_PROGRESS}
    AND ((runs.holder <> $1 AND NOT ${IS_ALIVE})
      OR (runs.holder = $1 AND CAST($3 AS INTEGER) = 1 AND NOT runs.id = :any_text($2)))`;
