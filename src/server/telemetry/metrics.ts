import type { CallTarget } from "../../core/adapter.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import type { CircuitState } from "../../middleware/breaker.ts";
import type { MiddlewareObserver } from "../../middleware/observer.ts";
import { boundedText } from "../status/bounded-text.ts";
import type { MeasuredCalls } from "./call-observer.ts";
import { createModelMetrics, TargetLabels, toUsd } from "./model-metrics.ts";
import {
  createCounter,
  createGauge,
  createGaugeSet,
  createHistogram,
  createReadCounter,
  createReadGaugeSet,
  type Metric,
  SECONDS_BUCKETS,
} from "./prometheus.ts";
import { createRunMetrics, type RunMetrics } from "./run-metrics.ts";

/** The metrics of the server. */
export interface Metrics extends MeasuredCalls, Required<MiddlewareObserver> {
  /** Receives the events of runs. */
  readonly runs: RunMetrics;
  /** Counts a connection that was closed because too many are open. */
  connectionRefused(listener: string): void;
  /** Notes when the certificate of a listener expires. */
  certificateUsed(listener: string, expiresAt: Date): void;
  /** Notes whether the configuration that was read again is used. */
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
  /** Whether a provider is registered. Must be true for finitely many names. Default: every provider is. */
  readonly isKnownProvider?: ((provider: string) => boolean) | undefined;
  /** Whether a model is known. Must be true for finitely many models. Default: none is. */
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
  const refusedConnections = createCounter({
    name: "outrigger_refused_connections_total",
    help: "Connections that were closed because too many were open, by listener.",
    labels: ["listener"],
  });
  const certificates = createGaugeSet({
    name: "outrigger_certificate_expiry_timestamp_seconds",
    help: "When the certificate of a listener expires, in seconds since 1970, by listener.",
    labels: ["listener"],
  });
  let inflight = 0;
  const gauge = createGauge(
    { name: "outrigger_inflight", help: "Calls that have not ended." },
    () => inflight,
  );
  const targets = new TargetLabels(isKnownProvider, isKnownModel);
  const models = createModelMetrics(targets);
  const middleware = createMiddlewareMetrics((provider, model) => targets.get(provider, model));
  const callers = createCallerMetrics();
  const runs = createRunMetrics();
  const config = createConfigMetrics();
  const all: Metric[] = [requests, seconds, gauge, refusedConnections, certificates, ...config.all];
  all.push(...models.all, ...callers.all, ...middleware.all, ...runs.all, ...processMetrics(version));
  if (readDroppedLogLines !== undefined) all.push(droppedLogLines(readDroppedLogLines));
  if (listIssuers !== undefined) all.push(issuerKeys(listIssuers));
  return {
    ...middleware.observer,
    ...models.observer,
    runs: runs.events,
    begin() {
      inflight += 1;
    },
    end(call, outcome) {
      const { rpc, caller } = call;
      const { codeName, durationMs, usage } = outcome;
      inflight -= 1;
      requests.add([rpc, codeName]);
      if (caller.name !== "") callers.end(caller.name, codeName, usage);
      seconds.observe([rpc], durationMs / 1000);
      models.observer.end(call, outcome);
    },
    connectionRefused: (listener) => refusedConnections.add([listener]),
    certificateUsed: (listener, expiresAt) => certificates.set([listener], expiresAt.getTime() / 1000),
    configReloaded: config.reloaded,
    get isConfigCurrent() {
      return config.isCurrent();
    },
    render: () => all.map((metric) => metric.render()).join(""),
  };
}

/** The state of the configuration, by the names of Prometheus's metrics for its configuration. */
function createConfigMetrics() {
  let isCurrent = true;
  let usedAt = Date.now();
  const all = [
    createGauge(
      {
        name: "outrigger_config_last_reload_successful",
        help: "Whether the configuration that was read last is in use: 1, or 0 if an earlier one is.",
      },
      () => Number(isCurrent),
    ),
    createGauge(
      {
        name: "outrigger_config_last_reload_success_timestamp_seconds",
        help: "When the configuration in use was read, in seconds since 1970.",
      },
      () => Math.round(usedAt) / 1000,
    ),
  ];
  return {
    all,
    isCurrent: () => isCurrent,
    reloaded(isUsed: boolean) {
      isCurrent = isUsed;
      if (isUsed) usedAt = Date.now();
    },
  };
}

function droppedLogLines(read: () => number): Metric {
  const help = "Lines of the log that could not be written.";
  return createReadCounter({ name: "outrigger_log_lines_dropped_total", help }, read);
}

function issuerKeys(list: NonNullable<MetricsOptions["listIssuers"]>): Metric {
  const init = {
    name: "outrigger_issuer_keys_last_read_successful",
    help: "Whether the keys of an issuer of tokens could be read last time: 1, or 0 if earlier keys are in use or none.",
    labels: ["issuer"],
  };
  return createReadGaugeSet(init, () =>
    list().map(({ issuer, problem }) => [[issuer], Number(problem === "")]),
  );
}

function processMetrics(version: string): Metric[] {
  const startedAt = Math.round(performance.timeOrigin) / 1000;
  return [
    createReadCounter({ name: "process_cpu_seconds_total", help: "CPU time of the process." }, () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    }),
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

/** The decisions of middleware, as metrics. */
interface MiddlewareMetrics {
  readonly observer: Required<MiddlewareObserver>;
  readonly all: readonly Metric[];
}

const TARGET = ["provider", "model"];

/** Callers choose the names, which may have any length. */
const MAX_NAME_BYTES = 128;

const CIRCUIT_VALUES: Readonly<Record<CircuitState, number>> = { closed: 0, half_open: 1, open: 2 };

/** @param getLabel Returns the labels of a provider and a model. There are finitely many. */
function createMiddlewareMetrics(
  getLabel: (provider: string, model: string) => readonly [string, string],
): MiddlewareMetrics {
  const retries = createCounter({
    name: "outrigger_retries_total",
    help: "Calls that were made again after a failure, by what they were sent to.",
    labels: TARGET,
  });
  const fallbacks = createCounter({
    name: "outrigger_fallbacks_total",
    help: "Calls that went to the next target of a chain, by where they had failed.",
    labels: TARGET,
  });
  const circuits = createGaugeSet({
    name: "outrigger_circuit_breaker_state",
    help: "Whether calls pass: 0 closed, 1 half open, 2 open. None where a model has not failed.",
    labels: TARGET,
  });
  const refusals = createCounter({
    name: "outrigger_refused_calls_total",
    help: "Calls that a circuit breaker, a rate limit or a budget refused before anything was sent.",
    labels: [...TARGET, "by"],
  });
  const lookups = createCounter({
    name: "outrigger_cache_lookups_total",
    help: "Calls whose answers were looked for in a cache.",
    labels: [...TARGET, "result"],
  });
  const choices = createCounter({
    name: "outrigger_alias_choices_total",
    help: "Calls for which one of several targets of an alias was chosen, by the chosen one.",
    labels: ["alias", ...TARGET],
  });
  const hedges = createCounter({
    name: "outrigger_hedges_total",
    help: "Further requests for calls without output, by where they were sent and whether they answered the call.",
    labels: [...TARGET, "result"],
  });
  const ejections = createCounter({
    name: "outrigger_alias_ejections_total",
    help: "Times that a target of an alias was left out because it was worse than the others, by the reason.",
    labels: ["alias", ...TARGET, "reason"],
  });
  const sharedServers = createGaugeSet({
    name: "outrigger_shared_server_reachable",
    help: "Whether the server of counts that sidecars share can be used: 1 or 0. None where no counts are shared.",
    labels: ["server"],
  });
  const sharedFailures = createCounter({
    name: "outrigger_shared_server_failures_total",
    help: "Decisions that the server of shared counts did not make, by reason.",
    labels: ["server", "reason"],
  });
  const getLabels = ({ provider, model }: CallTarget) =>
    getLabel(boundedText(provider, MAX_NAME_BYTES), boundedText(model, MAX_NAME_BYTES));
  return {
    all: [
      retries,
      fallbacks,
      circuits,
      refusals,
      lookups,
      choices,
      ejections,
      hedges,
      sharedServers,
      sharedFailures,
    ],
    observer: {
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
    },
  };
}

/** The usage of callers with access keys, as metrics. */
interface CallerMetrics {
  /** Counts a call that has ended. */
  end(caller: string, code: string, usage: Usage | undefined): void;
  readonly all: readonly Metric[];
}

/**
 * Maximum number of callers with a separate label. The operator chooses their names, but may change them while the
 * process runs.
 */
const MAX_CALLER_LABELS = 1000;

/** Creates the metrics by caller. Without access keys they have no samples. */
function createCallerMetrics(): CallerMetrics {
  const requests = createCounter({
    name: "outrigger_caller_requests_total",
    help: "Calls that ended, by the name of the caller and status.",
    labels: ["caller", "code"],
  });
  const tokens = createCounter({
    name: "outrigger_caller_tokens_total",
    help: "Tokens as providers report them, by the name of the caller.",
    labels: ["caller", "direction"],
  });
  const cost = createCounter({
    name: "outrigger_caller_cost_usd_total",
    help: "Cost of calls with a known price in US dollars, by the name of the caller.",
    labels: ["caller"],
  });
  const known = new Set<string>();
  const getLabel = (caller: string): string => {
    if (known.has(caller)) return caller;
    if (known.size >= MAX_CALLER_LABELS) return "other";
    known.add(caller);
    return caller;
  };
  return {
    end(caller, code, usage) {
      const label = getLabel(caller);
      requests.add([label, code]);
      if (usage === undefined) return;
      tokens.add([label, "input"], usage.inputTokens);
      tokens.add([label, "output"], usage.outputTokens);
      if (usage.costNanoUsd !== undefined) cost.add([label], toUsd(usage.costNanoUsd));
    },
    all: [requests, tokens, cost],
  };
}
