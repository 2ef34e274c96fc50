/** The response object of a run, read from its events. */
import type { Batches } from "../../core/batches.ts";
import { yieldTurn } from "../../core/loop-turns.ts";
import type { Run, RunEvent } from "../../gen/outrigger/v1/run_pb.ts";
import type { EventOptions, EventSink } from "./event-output.ts";
import type { ResponseSettings } from "./settings.ts";
import { ResponseEvents } from "./write-events.ts";

const NOWHERE: EventSink = { write: () => undefined };

const UNWRITTEN: EventOptions = { startingAfter: Number.POSITIVE_INFINITY, pads: false };

/**
 * Reads the events of a run to their end. Afterwards the writer has the response object and, if the run failed, the
 * reason.
 */
export async function readToEnd(
  run: Run,
  events: Batches<RunEvent>,
  settings: ResponseSettings,
): Promise<ResponseEvents> {
  const writer = ResponseEvents.create(run, NOWHERE, UNWRITTEN, settings);
  for await (const batch of events) {
    writer.push(batch);
    const turn = yieldTurn();
    if (turn !== undefined) await turn;
  }
  writer.end();
  return writer;
}

/** Returns the response object of a stored run, from its events up to the run's `lastSequence`. */
export async function objectFromEvents(
  run: Run,
  events: Batches<RunEvent>,
  settings: ResponseSettings,
): Promise<string> {
  const writer = ResponseEvents.create(run, NOWHERE, UNWRITTEN, settings);
  for await (const batch of events) {
    writer.push(batch.filter(({ sequence }) => sequence <= run.lastSequence));
    if ((batch.at(-1)?.sequence ?? 0) >= run.lastSequence) break;
    const turn = yieldTurn();
    if (turn !== undefined) await turn;
  }
  return writer.toObject(run);
}
