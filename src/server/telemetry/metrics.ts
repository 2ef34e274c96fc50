import type { MiddlewareObserver } from "../../middleware/observer.ts";
import { codeName } from "../status/status-code.ts";
import type { CallObserver } from "./call-observer.ts";
import { createCallerMetrics } from "./caller-metrics.ts";
import { createMiddlewareMetrics } from "./middleware-metrics.ts";
import { createCounter, createGauge, createHistogram, createReadCounter, type Metric } from "./prometheus.ts";
import { createRunMetrics, type RunMetrics } from "./run-metrics.ts";

/** The metrics of the server. */
export interface Metrics extends Required<Omit<CallObserver, "attemptEnd">>, Required<MiddlewareObserver> {
  /** Receives the events of runs. */
  readonly runs: Pick<RunMetrics, "runEnded" | "queueMeasured">;
  /** Counts a connection that was closed because too many are open. */
  connectionRefused(listener: string): void;
  /** Renders all metrics in Prometheus' text format. */
  render(): string;
}

/** Media type of the rendered metrics. */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Maximum number of models with a separate label, whatever their names. Later models must be known. */
export const MAX_MODEL_LABELS = 100;

/** Options of the server's metrics. */
export interface MetricsOptions {
  /** Version of the program. */
  readonly version: string;
  /**
   * Whether a model is known, so that it gets a separate label even if callers have used up all others with invented
   * names. Must be true for finitely many models. Called only in that case.
   */
  readonly isKnownModel?: ((provider: string, model: string) => boolean) | undefined;
  /** Returns the number of lines that the log has dropped so far. Default: there is no such metric. */
  readonly readDroppedLogLines?: (() => number) | undefined;
}

/** Creates the server's metrics. */
export function createMetrics({ version, isKnownModel, readDroppedLogLines }: MetricsOptions): Metrics {
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
  const attempts = createCounter({
    name: "outrigger_provider_calls_total",
    help: "Requests to providers that began, by the RPC that they serve.",
    labels: ["rpc"],
  });
  const firstOutput = createHistogram(
    {
      name: "outrigger_time_to_first_output_seconds",
      help: "Time of streams from their headers to the first text, reasoning, tool call or other part.",
      labels: ["provider", "model"],
    },
    SECONDS_BUCKETS,
  );
  const refusedConnections = createCounter({
    name: "outrigger_refused_connections_total",
    help: "Connections that were closed because too many were open, by listener.",
    labels: ["listener"],
  });
  let inflight = 0;
  const gauge = createGauge(
    { name: "outrigger_inflight", help: "Calls that have not ended." },
    () => inflight,
  );
  const getLabel = boundedLabels(MAX_MODEL_LABELS, isKnownModel);
  const middleware = createMiddlewareMetrics(getLabel);
  const callers = createCallerMetrics();
  const runs = createRunMetrics();
  const all: Metric[] = [requests, seconds, firstOutput, gauge, attempts, tokens];
  all.push(refusedConnections, ...callers.all, ...middleware.all, ...runs.all, ...processMetrics(version));
  if (readDroppedLogLines !== undefined) all.push(droppedLogLines(readDroppedLogLines));
  return {
    ...middleware.observer,
    runs,
    begin() {
      inflight += 1;
    },
    attempt: ({ rpc }) => attempts.add([rpc]),
    firstOutput(_call, { provider, model, elapsedMs }) {
      firstOutput.observe(getLabel(provider, model), elapsedMs / 1000);
    },
    end({ rpc, caller }, { code, durationMs, usage, provider = "", model = "" }) {
      inflight -= 1;
      requests.add([rpc, codeName(code)]);
      callers.end(caller.name, codeName(code), usage);
      seconds.observe([rpc], durationMs / 1000);
      if (usage === undefined) return;
      const [providerLabel, modelLabel] = getLabel(provider, model);
      tokens.add([providerLabel, modelLabel, "input"], usage.inputTokens);
      tokens.add([providerLabel, modelLabel, "output"], usage.outputTokens);
    },
    connectionRefused: (listener) => refusedConnections.add([listener]),
    render: () => all.map((metric) => metric.render()).join(""),
  };
}

// From a health check to a reasoning model that thinks for ten minutes.
const SECONDS_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** Keeps the number of time series finite: callers choose model names freely. */
function boundedLabels(
  limit: number,
  isKnownModel: (provider: string, model: string) => boolean = () => false,
): (provider: string, model: string) => readonly [string, string] {
  const known = new Set<string>();
  return (provider, model) => {
    const key = JSON.stringify([provider, model]);
    if (!known.has(key) && known.size >= limit && !isKnownModel(provider, model)) return ["other", "other"];
    known.add(key);
    return [provider, model];
  };
}

function droppedLogLines(read: () => number): Metric {
  const help = "Lines of the log that could not be written.";
  return createReadCounter({ name: "outrigger_log_lines_dropped_total", help }, read);
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
