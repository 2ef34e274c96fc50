import { codeName } from "../status/status-code.ts";
import type { Call } from "./call.ts";
import { createCounter, createGauge, createHistogram, type Metric } from "./prometheus.ts";

/** What the server counts. */
export interface Metrics {
  /** A call has arrived. */
  begin(): void;
  /** A call has ended. */
  end(call: Call, durationMs: number): void;
  /** All metrics in Prometheus' text format. */
  render(): string;
}

/** Media type of what `render` gives. */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Most models that get a label of their own; later ones are counted as `other`. */
export const MAX_MODEL_LABELS = 100;

/** Makes the server's metrics. */
export function createMetrics(version: string): Metrics {
  const requests = createCounter({
    name: "outrigger_requests_total",
    help: "Calls that ended, by RPC and status.",
    labels: ["rpc", "code"],
  });
  const seconds = createHistogram(
    {
      name: "outrigger_request_seconds",
      help: "Duration of calls, from their headers to their last byte.",
      labels: ["rpc"],
    },
    SECONDS_BUCKETS,
  );
  const tokens = createCounter({
    name: "outrigger_tokens_total",
    help: "Tokens as providers report them.",
    labels: ["provider", "model", "direction"],
  });
  let inflight = 0;
  const gauge = createGauge(
    { name: "outrigger_inflight", help: "Calls that have not ended." },
    () => inflight,
  );
  const labelOf = boundedLabels(MAX_MODEL_LABELS);
  const all: Metric[] = [requests, seconds, gauge, tokens, ...processMetrics(version)];
  return {
    begin() {
      inflight += 1;
    },
    end(call, durationMs) {
      inflight -= 1;
      requests.add([call.rpc, codeName(call.code)]);
      seconds.observe([call.rpc], durationMs / 1000);
      if (call.usage === undefined) return;
      const [provider, model] = labelOf(call.provider, call.model);
      tokens.add([provider, model, "input"], call.usage.inputTokens);
      tokens.add([provider, model, "output"], call.usage.outputTokens);
    },
    render: () => all.map((metric) => metric.render()).join(""),
  };
}

// From a health check to a reasoning model that thinks for ten minutes.
const SECONDS_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** Keeps the number of time series finite: callers choose model names freely. */
function boundedLabels(limit: number): (provider: string, model: string) => readonly [string, string] {
  const known = new Set<string>();
  return (provider, model) => {
    const key = JSON.stringify([provider, model]);
    if (!known.has(key) && known.size >= limit) return ["other", "other"];
    known.add(key);
    return [provider, model];
  };
}

function processMetrics(version: string): Metric[] {
  const startedAt = Math.round(performance.timeOrigin) / 1000;
  return [
    createGauge({ name: "process_resident_memory_bytes", help: "Resident memory of the process." }, () =>
      process.memoryUsage.rss(),
    ),
    createGauge(
      { name: "nodejs_heap_used_bytes", help: "Memory that JavaScript objects hold." },
      () => process.memoryUsage().heapUsed,
    ),
    createGauge(
      { name: "process_start_time_seconds", help: "When the process started, in seconds since 1970." },
      () => startedAt,
    ),
    createGauge({ name: "outrigger_build_info", help: "Version of the program." }, () => 1, { version }),
  ];
}
