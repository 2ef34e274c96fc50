/** Assigns runs to processes, and reclaims them from processes that are no longer alive. */
import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { InternalError } from "../../core/errors.ts";
import { RunSchema, RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import { CreateRunRequestSchema } from "../../gen/outrigger/v1/run_service_pb.ts";
import { createStatusEvent } from "../run-log.ts";
import type { Claim } from "../store.ts";
import { type Bodies, STORED_RUN_COLUMNS, type StoredRunRow } from "./bodies.ts";
import type { Call } from "./driver.ts";
import { IS_ALIVE, IS_FREE, IS_QUEUED } from "./schema.ts";
import { createWriteCalls } from "./writes.ts";

export const RENEW_LEASE = `
  INSERT INTO :schema.processes (id, alive_until) VALUES ($1, :now + $2)
  ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until`;

export const FIND_CANCELLED = `SELECT id FROM :schema.runs WHERE holder = $1 AND cancel_requested = 1`;

/** Removes processes that died long ago, whose runs are free already. */
export const FORGET_PROCESSES = `DELETE FROM :schema.processes WHERE alive_until < :now - $1`;

export const RELEASE_LEASE = `DELETE FROM :schema.processes WHERE id = $1`;

/**
 * Takes the first runs that meet a condition, for the holder $1, at most $2. Runs that another process is taking are
 * skipped.
 */
const claimFirst = (condition: string) => `
  WITH claimed AS MATERIALIZED (
    SELECT runs.number FROM :schema.runs WHERE ${condition} ORDER BY runs.number LIMIT $2 :skip_locked
  )
  UPDATE :schema.runs SET holder = $1, fence = fence + 1 FROM claimed WHERE runs.number = claimed.number
  RETURNING runs.fence, ${STORED_RUN_COLUMNS}`;

/** $3: the owners to leave out. */
export const CLAIM_QUEUED = claimFirst(`${IS_QUEUED} AND ${IS_FREE} AND NOT runs.owner = :any_text($3)`);

export const CLAIM = `
  UPDATE :schema.runs SET holder = $2, fence = fence + 1
  WHERE id = $1 AND status IN (${RunStatus.QUEUED}, ${RunStatus.REQUIRES_ACTION}) AND ${IS_FREE}
  RETURNING runs.fence, ${STORED_RUN_COLUMNS}`;

/**
 * $3: ids of the runs that the holder knows it has claimed. A process whose heartbeat is late never reclaims the runs
 * that it executes from itself.
 */
export const CLAIM_ABANDONED = claimFirst(`
  runs.status = ${RunStatus.IN_PROGRESS} AND ((COALESCE(runs.holder, '') <> $1 AND ${IS_FREE})
    OR (runs.holder = $1 AND NOT runs.id = :any_text($3)))`);

/**
 * Frees abandoned runs that are not in progress: they are delivered again, or wait for their results. $1: the process
 * that frees them, $2: ids of the runs that it knows it has claimed.
 */
export const FREE_ABANDONED = `
  UPDATE :schema.runs SET holder = NULL, fence = fence + 1
  WHERE runs.holder IS NOT NULL AND runs.status <> ${RunStatus.IN_PROGRESS}
    AND ((runs.holder <> $1 AND NOT ${IS_ALIVE}) OR (runs.holder = $1 AND NOT runs.id = :any_text($2)))`;

const REPLACE_REQUEST = "UPDATE :schema.requests SET body = $2 WHERE run = $1";

/** A run that was claimed. */
export interface ClaimedRunRow extends StoredRunRow {
  readonly fence: number;
}

/**
 * Returns the statements that end a run whose body or request cannot be read, so that its conversation can be
 * continued.
 */
export function createUnreadableEnd(row: ClaimedRunRow, claim: Claim, bodies: Bodies): Call[] {
  const { number, id, thread_id: threadId, last_sequence } = row;
  const lastSequence = (last_sequence ?? -1) + 1;
  const run = create(RunSchema, {
    id,
    threadId,
    status: RunStatus.FAILED,
    stored: true,
    lastSequence,
    endedAt: timestampNow(),
    error: new InternalError("the stored run cannot be read").toProto(),
  });
  const write = { claim, run, events: [createStatusEvent(lastSequence, run)] };
  const request = bodies.writeRequest(id, { request: create(CreateRunRequestSchema) });
  const { calls } = createWriteCalls(write, 0, { number, steps: 0 }, bodies);
  return [{ text: REPLACE_REQUEST, values: [number, request] }, ...calls];
}
