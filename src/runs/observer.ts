import type { Run } from "../gen/outrigger/v1/run_pb.ts";

/** Notified about runs, for logs and metrics. Must not throw. */
export interface RunObserver {
  /** A run was created. */
  runCreated?(run: Run): void;
  /** A run that this process executed has ended or requires action. */
  runEnded?(run: Run): void;
  /** Number of runs in the queue, of all processes. Called every few seconds. */
  queueMeasured?(queued: number): void;
  /** A background task has failed, for instance the removal of old runs. */
  failed?(what: string, error: unknown): void;
}
