import { type Run, type RunStatus, RunStatusSchema } from "../../gen/outrigger/v1/run_pb.ts";
import { createCounter, createGauge, type Metric } from "./prometheus.ts";

/** What happens to runs, as metrics. */
export interface RunMetrics {
  /** A run that this process executed is over, or waits for its caller. */
  runEnded(run: Run): void;
  /** How many runs wait in the queue. */
  queueMeasured(queued: number): void;
  readonly all: readonly Metric[];
}

/** Makes the metrics of runs. */
export function createRunMetrics(): RunMetrics {
  const ended = createCounter({
    name: "outrigger_runs_total",
    help: "Runs that ended or came to wait for their caller, by status and by whether they were in the background.",
    labels: ["status", "background"],
  });
  let queued = 0;
  const queue = createGauge(
    { name: "outrigger_runs_queued", help: "Runs that wait for their turn, of all sidecars on one store." },
    () => queued,
  );
  return {
    runEnded: ({ status, background }) => ended.add([statusName(status), String(background)]),
    queueMeasured(measured) {
      queued = measured;
    },
    all: [ended, queue],
  };
}

/** The status without the prefix of its enum: `COMPLETED`. */
function statusName(status: RunStatus): string {
  return RunStatusSchema.value[status]?.localName ?? String(status);
}
