/** Reads the events of runs. */
import type { RunEvent } from "../../../gen/outrigger/v1/run_pb.ts";
import type { Bodies } from "./bodies.ts";
import type { Queries, Statement } from "./database.ts";

/** Rows that one read takes at most, and their bytes: the first row comes whatever its size. */
const MAX_ROWS = 256;
const MAX_BYTES = 1024 * 1024;

const READ: Statement = {
  name: "read_events",
  text: `
    SELECT last_sequence, body
    FROM (
      SELECT last_sequence, body,
        sum(octet_length(body)) OVER (ORDER BY last_sequence) - octet_length(body) AS bytes_before
      FROM (
        SELECT last_sequence, body FROM :schema.events
        WHERE run_id = $1 AND last_sequence > $2
        ORDER BY last_sequence LIMIT $3
      ) AS event
    ) AS event
    WHERE bytes_before < ${MAX_BYTES}
    ORDER BY last_sequence`,
};

/** The events after a sequence number, in order: at most `maxEvents` of them, fewer where they are large. */
export async function readEvents(
  queries: Queries,
  runId: string,
  afterSequence: number,
  maxEvents: number,
  bodies: Bodies,
): Promise<RunEvent[]> {
  const rows = await queries.query<{ last_sequence: number; body: Uint8Array }>(READ, [
    runId,
    afterSequence,
    Math.min(maxEvents, MAX_ROWS),
  ]);
  const events = rows.flatMap(({ last_sequence, body }) =>
    bodies.readEvents(runId, { lastSequence: last_sequence, body }),
  );
  // The first row may begin before what was asked for.
  return events.filter(({ sequence }) => sequence > afterSequence).slice(0, maxEvents);
}
