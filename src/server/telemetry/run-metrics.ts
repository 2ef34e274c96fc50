/** Metrics of runs: their ends, their queue, their store, and their calls of MCP servers. */
import { type Run, RunStatusSchema } from "../../gen/outrigger/v1/run_pb.ts";
import type { StoreState } from "../../runs/lazy-engine.ts";
import type { MetricSet } from "./prometheus.ts";

/** Counts the events of runs. */
export interface RunMetrics {
  /** Counts a run that this process executed and that has ended or waits for its caller. */
  runEnded(run: Run): void;
  /** Records the number of queued runs of all sidecars on one store, and of the stored runs that this one executes. */
  runsMeasured(queued: number, inProgress: number): void;
  /** Records the state of the store when it was used. */
  storeChanged(state: StoreState): void;
  /** State of the store when it was last used. */
  readonly storeState: StoreState;
  /** Counts a call of a tool of an MCP server. @param server Its label in the configuration; empty for others. */
  mcpCalled(server: string, hasFailed: boolean, durationMs: number): void;
}

/** Adds the metrics of runs. */
export function createRunMetrics(metrics: MetricSet): RunMetrics {
  const ended = metrics.counter(
    "outrigger_runs_total",
    "Runs that ended or began to wait for their caller, by status and by whether they were in the background.",
    ["status", "background"],
  );
  let queued = 0;
  let inProgress = 0;
  let state: StoreState = "ok";
  metrics.read("outrigger_runs_queued", "Queued runs of all sidecars on one store.", () => queued);
  metrics.read("outrigger_runs_in_progress", "Stored runs that this sidecar is executing.", () => inProgress);
  metrics.read(
    "outrigger_store_reachable",
    "Whether the store of runs was reachable when it was last used: 1 or 0.",
    () => Number(state !== "unreachable"),
  );
  metrics.read(
    "outrigger_store_full",
    "Whether the store of runs was full when it was last written: 1 or 0.",
    () => Number(state === "full"),
  );
  const mcpCalls = metrics.counter(
    "outrigger_mcp_calls_total",
    "Calls of tools of MCP servers, by the label of the server and by result.",
    ["server", "result"],
  );
  const mcpSeconds = metrics.histogram(
    "outrigger_mcp_call_seconds",
    "Duration of calls of tools of MCP servers.",
    ["server"],
  );
  return {
    runEnded({ status, background }) {
      // The status without the prefix of its enum, such as `COMPLETED`.
      const name = RunStatusSchema.value[status]?.localName ?? String(status);
      ended.add([name, String(background)]);
    },
    runsMeasured(measured, executed) {
      queued = measured;
      inProgress = executed;
    },
    storeChanged(changed) {
      state = changed;
    },
    get storeState() {
      return state;
    },
    mcpCalled(server, hasFailed, durationMs) {
      const label = server || "other";
      mcpCalls.add([label, hasFailed ? "failed" : "ok"]);
      mcpSeconds.observe([label], durationMs / 1000);
    },
  };
}
