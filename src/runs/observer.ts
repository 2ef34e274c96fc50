import type { Run } from "../gen/outrigger/v1/run_pb.ts";

/** Is told about runs, for logs and metrics. Must not throw. */
export interface RunObserver {
  /** A run was created. */
  runCreated?(run: Run): void;
  /** A run that this process executed is over, or waits for its caller. */
  runEnded?(run: Run): void;
  /** How many runs wait in the queue, of all processes. Told again every few seconds. */
  queueMeasured?(queued: number): void;
  /** Work that no caller waits for has failed, for instance the removal of old runs. */
  failed?(what: string, error: unknown): void;
}
