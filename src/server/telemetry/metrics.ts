import type { CallTarget } from "../../core/adapter.ts";
import { boundedText } from "../../core/text.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import type { CircuitState } from "../../middleware/breaker.ts";
import type { MiddlewareObserver } from "../../middleware/observer.ts";
import type { MeasuredCalls } from "./call-observer.ts";
import { createModelMetrics, TargetLabels, toUsd } from "./model-metrics.ts";
import { MetricSet } from "./prometheus.ts";
import { createRunMetrics, type RunMetrics } from "./run-metrics.ts";

/** The metrics of the server. */
export interface Metrics extends MeasuredCalls, Required<MiddlewareObserver> {
  /** Receives the events of runs. */
  readonly runs: RunMetrics;
  /** Counts a connection that was closed because too many are open. */
  connectionRefused(listener: string): void;
  /** Records when the certificate of a listener expires. */
  certificateUsed(listener: string, expiresAt: Date): void;
  /** Records whether the configuration that was read again is used. */
  configReloaded(isUsed: boolean): void;
  /** Whether the configuration that was read last is in use. */
  readonly isConfigCurrent: boolean;
  /** Renders all metrics in Prometheus' text format. */
  render(): string;
}

/** Media type of the rendered metrics. */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Options of the server's metrics. */
export interface MetricsOptions {
  /** Version of the program. */
  readonly version: string;
  /** Whether a provider is registered. May be true for a bounded number of names only. Default: every provider is. */
  readonly isKnownProvider?: ((provider: string) => boolean) | undefined;
  /** Whether a model is known. May be true for a bounded number of models only. Default: none is. */
  readonly isKnownModel?: ((provider: string, model: string) => boolean) | undefined;
  /** Returns the number of lines that the log has dropped so far. Default: there is no such metric. */
  readonly readDroppedLogLines?: (() => number) | undefined;
  /**
   * Returns the issuers of tokens, with the reasons why their keys could not be read last time; empty if they could.
   * Default: there is no such metric.
   */
  readonly listIssuers?: (() => readonly { readonly issuer: string; readonly problem: string }[]) | undefined;
}

/** Creates the server's metrics. */
export function createMetrics({
  version,
  isKnownProvider = () => true,
  isKnownModel = () => false,
  readDroppedLogLines,
  listIssuers,
}: MetricsOptions): Metrics {
  const metrics = new MetricSet();
  const requests = metrics.counter("outrigger_requests_total", "Calls that ended, by RPC and status.", [
    "rpc",
    "code",
  ]);
  const seconds = metrics.histogram(
    "outrigger_request_seconds",
    "Duration of calls, from their headers to their last byte.",
    ["rpc"],
  );
  let inflight = 0;
  metrics.read("outrigger_inflight", "Calls that have not ended.", () => inflight);
  const refusedConnections = metrics.counter(
    "outrigger_refused_connections_total",
    "Connections closed because too many were open, by listener.",
    ["listener"],
  );
  const certificates = metrics.gauge(
    "outrigger_certificate_expiry_timestamp_seconds",
    "When the certificate of a listener expires, in seconds since 1970, by listener.",
    ["listener"],
  );
  const config = createConfigMetrics(metrics);
  const targets = new TargetLabels(isKnownProvider, isKnownModel);
  const models = createModelMetrics(metrics, targets);
  const countCaller = createCallerMetrics(metrics);
  const middleware = createMiddlewareMetrics(metrics, (provider, model) => targets.get(provider, model));
  const runs = createRunMetrics(metrics);
  addProcessMetrics(metrics, version);
  if (readDroppedLogLines !== undefined)
    metrics.read(
      "outrigger_log_lines_dropped_total",
      "Log lines that could not be written.",
      readDroppedLogLines,
    );
  if (listIssuers !== undefined)
    metrics.read(
      "outrigger_issuer_keys_last_read_successful",
      "Whether the last read of the keys of an issuer of tokens succeeded: 1 or 0.",
      () => listIssuers().map(({ issuer, problem }) => [[issuer], Number(problem === "")]),
      ["issuer"],
    );
  return {
    ...middleware,
    ...models,
    runs,
    begin() {
      inflight += 1;
    },
    end(call, outcome) {
      const { rpc, caller } = call;
      const { codeName, durationMs, usage } = outcome;
      inflight -= 1;
      requests.add([rpc, codeName]);
      if (caller.name !== "") countCaller(caller.name, codeName, usage);
      seconds.observe([rpc], durationMs / 1000);
      models.end(call, outcome);
    },
    connectionRefused: (listener) => refusedConnections.add([listener]),
    certificateUsed: (listener, expiresAt) => certificates.set([listener], expiresAt.getTime() / 1000),
    configReloaded: config.reloaded,
    get isConfigCurrent() {
      return config.isCurrent();
    },
    render: () => metrics.render(),
  };
}

/** Adds the state of the configuration. The metrics are named like those of Prometheus for its own configuration. */
function createConfigMetrics(metrics: MetricSet) {
  let isCurrent = true;
  let usedAt = Date.now();
  metrics.read(
    "outrigger_config_last_reload_successful",
    "Whether the last reload of the configuration succeeded: 1 or 0.",
    () => Number(isCurrent),
  );
  metrics.read(
    "outrigger_config_last_reload_success_timestamp_seconds",
    "When the configuration in use was read, in seconds since 1970.",
    () => Math.round(usedAt) / 1000,
  );
  return {
    isCurrent: () => isCurrent,
    reloaded(isUsed: boolean) {
      isCurrent = isUsed;
      if (isUsed) usedAt = Date.now();
    },
  };
}

function addProcessMetrics(metrics: MetricSet, version: string): void {
  const startedAt = Math.round(performance.timeOrigin) / 1000;
  metrics.read("process_cpu_seconds_total", "CPU time of the process.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  metrics.read("process_resident_memory_bytes", "Resident memory of the process.", () =>
    process.memoryUsage.rss(),
  );
  metrics.read(
    "nodejs_heap_used_bytes",
    "Memory used by JavaScript objects.",
    () => process.memoryUsage().heapUsed,
  );
  metrics.read(
    "process_start_time_seconds",
    "When the process started, in seconds since 1970.",
    () => startedAt,
  );
  metrics.read("outrigger_build_info", "Version of the program.", () => [[[version], 1]], ["version"]);
}

const TARGET = ["provider", "model"];

/** Maximum length of a name in a label. Callers choose the names, which may have any length. */
const MAX_NAME_BYTES = 128;

const CIRCUIT_VALUES: Readonly<Record<CircuitState, number>> = { closed: 0, half_open: 1, open: 2 };

/**
 * Adds the decisions of middleware.
 * @param getLabel Returns the labels of a provider and a model, of which there is a bounded number.
 */
function createMiddlewareMetrics(
  metrics: MetricSet,
  getLabel: (provider: string, model: string) => readonly [string, string],
): Required<MiddlewareObserver> {
  const retries = metrics.counter(
    "outrigger_retries_total",
    "Calls retried after a failure, by their target.",
    TARGET,
  );
  const fallbacks = metrics.counter(
    "outrigger_fallbacks_total",
    "Calls that went to the next target of a chain, by the failed target.",
    TARGET,
  );
  const circuits = metrics.gauge(
    "outrigger_circuit_breaker_state",
    "State of a circuit breaker: 0 closed, 1 half open, 2 open. Absent if a model has not failed.",
    TARGET,
  );
  const refusals = metrics.counter(
    "outrigger_refused_calls_total",
    "Calls rejected by a circuit breaker, a rate limit or a budget before anything was sent.",
    [...TARGET, "by"],
  );
  const lookups = metrics.counter("outrigger_cache_lookups_total", "Lookups of answers in a cache.", [
    ...TARGET,
    "result",
  ]);
  const choices = metrics.counter(
    "outrigger_alias_choices_total",
    "Calls of an alias with several targets, by the chosen target.",
    ["alias", ...TARGET],
  );
  const ejections = metrics.counter(
    "outrigger_alias_ejections_total",
    "Ejections of a target of an alias that was worse than the others, by reason.",
    ["alias", ...TARGET, "reason"],
  );
  const hedges = metrics.counter(
    "outrigger_hedges_total",
    "Further requests for calls without output, by target and result.",
    [...TARGET, "result"],
  );
  const sharedServers = metrics.gauge(
    "outrigger_shared_server_reachable",
    "Whether the server of shared counts can be used: 1 or 0. Absent if no counts are shared.",
    ["server"],
  );
  const sharedFailures = metrics.counter(
    "outrigger_shared_server_failures_total",
    "Decisions that the server of shared counts did not make, by reason.",
    ["server", "reason"],
  );
  const getLabels = ({ provider, model }: CallTarget) =>
    getLabel(boundedText(provider, MAX_NAME_BYTES), boundedText(model, MAX_NAME_BYTES));
  return {
    chosen: (alias, target) => choices.add([boundedText(alias, MAX_NAME_BYTES), ...getLabels(target)]),
    ejected: (alias, target, reason) =>
      ejections.add([boundedText(alias, MAX_NAME_BYTES), ...getLabels(target), reason]),
    hedged: (target, result) => hedges.add([...getLabels(target), result]),
    retry: (target) => retries.add(getLabels(target)),
    fallback: (from) => fallbacks.add(getLabels(from)),
    circuit: (target, state) => circuits.set(getLabels(target), CIRCUIT_VALUES[state]),
    refused: (target, by) => refusals.add([...getLabels(target), by]),
    cache: (target, result) => lookups.add([...getLabels(target), result]),
    sharedServer: (server, isReachable) => sharedServers.set([server], Number(isReachable)),
    sharedFailure: (server, reason) => sharedFailures.add([server, reason]),
  };
}

/**
 * Maximum number of callers with a separate label. The operator chooses their names, but may change them while the
 * process runs.
 */
const MAX_CALLER_LABELS = 1000;

/**
 * Adds the usage of callers with access keys. Without such callers, it has no samples. Returns the function that counts
 * a call that has ended.
 */
function createCallerMetrics(
  metrics: MetricSet,
): (caller: string, code: string, usage: Usage | undefined) => void {
  const requests = metrics.counter(
    "outrigger_caller_requests_total",
    "Calls that ended, by the name of the caller and status.",
    ["caller", "code"],
  );
  const tokens = metrics.counter(
    "outrigger_caller_tokens_total",
    "Tokens as providers report them, by the name of the caller.",
    ["caller", "direction"],
  );
  const cost = metrics.counter(
    "outrigger_caller_cost_usd_total",
    "Cost of calls with a known price in US dollars, by the name of the caller.",
    ["caller"],
  );
  const known = new Set<string>();
  const getLabel = (caller: string): string => {
    if (known.has(caller)) return caller;
    if (known.size >= MAX_CALLER_LABELS) return "other";
    known.add(caller);
    return caller;
  };
  return (caller, code, usage) => {
    const label = getLabel(caller);
    requests.add([label, code]);
    if (usage === undefined) return;
    tokens.add([label, "input"], usage.inputTokens);
    tokens.add([label, "output"], usage.outputTokens);
    if (usage.costNanoUsd !== undefined) cost.add([label], toUsd(usage.costNanoUsd));
  };
}
