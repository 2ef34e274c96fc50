import type { Run, RunEvent } from "../gen/outrigger/v1/run_pb.ts";

/** What happened. */
export type RunEventValue = RunEvent["event"];

/** An event. Written out: it is made for each event of a model. */
export function createRunEvent(sequence: number, step: number, event: RunEventValue): RunEvent {
  return { $typeName: "outrigger.v1.RunEvent", sequence, step, event };
}

/** The event that says how a run is now. */
export function createStatusEvent(sequence: number, run: Run): RunEvent {
  return createRunEvent(sequence, 0, { case: "run", value: run });
}
