/** Who may change a run. The times are the database's: the clocks of sidecars may differ. */
import type { Statement } from "./database.ts";
import { NOW, STORED_RUN_COLUMNS } from "./run-rows.ts";

/** Status 1 is QUEUED, 3 REQUIRES_ACTION. */
export const TAKE: Statement = {
  name: "take_run",
  text: `
    UPDATE :schema.runs SET lease_holder = $2, lease_until = ${NOW} + $3::bigint
    WHERE id = $1 AND status IN (1, 3) AND (lease_holder IS NULL OR lease_until < ${NOW})
    RETURNING ${STORED_RUN_COLUMNS}`,
};

export const RENEW: Statement = {
  name: "renew_leases",
  text: `
    UPDATE :schema.runs SET lease_until = ${NOW} + $2::bigint WHERE lease_holder = $1 AND id = ANY ($3::text[])
    RETURNING id, cancel_requested`,
};

/** Rows that another process is taking are skipped. Status 2 is IN_PROGRESS. */
export const TAKE_ABANDONED: Statement = {
  name: "take_abandoned_runs",
  text: `
    UPDATE :schema.runs SET lease_holder = $1, lease_until = ${NOW} + $2::bigint
    WHERE id = ANY (ARRAY(
      SELECT id FROM :schema.runs WHERE status = 2 AND lease_until < ${NOW}
      ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED))
    RETURNING ${STORED_RUN_COLUMNS}`,
};
