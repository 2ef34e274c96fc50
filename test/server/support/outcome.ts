import type { Outcome } from "../../../src/server/telemetry/outcome.ts";

/** The outcome of a successful call without details, with changes. */
export function toOutcome(changes: Partial<Outcome> = {}): Outcome {
  return {
    code: undefined,
    disconnected: false,
    durationMs: 1,
    firstOutputMs: undefined,
    inferenceId: undefined,
    ...changes,
  };
}
