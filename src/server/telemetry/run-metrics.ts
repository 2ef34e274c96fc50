import { type Run, type RunStatus, RunStatusSchema } from "../../gen/outrigger/v1/run_pb.ts";
import { createCounter, createGauge, type Metric } from "./prometheus.ts";

/** Events of runs, as metrics. */
export interface RunMetrics {
  /** Counts a run that this process executed and that has ended or waits for its caller. */
  runEnded(run: Run): void;
  /** Records the number of queued runs. */
  queueMeasured(queued: number): void;
  readonly all: readonly Metric[];
}

/** Creates the metrics of runs. */
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

/** Returns the status without the prefix of its enum: `COMPLETED`. */
function statusName(status: RunStatus): string {
  return RunStatusSchema.value[status]?.localName ?? String(status);
}
