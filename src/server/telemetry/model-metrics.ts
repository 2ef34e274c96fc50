/** Metrics of calls by provider and model. */
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { kindName } from "../status/status-code.ts";
import type { MeasuredCalls } from "./call-observer.ts";
import { findFailedBy } from "./failed-call.ts";
import type { MetricSet } from "./prometheus.ts";

/** Maximum number of unknown models that have a separate label because they have answered. */
export const MAX_MODEL_LABELS = 100;

type Labels = readonly [provider: string, model: string];

const OTHER = "other";

/**
 * The labels of providers and models. Their number is bounded, although callers choose the names freely: a model has a
 * separate label if it is known, or once it has answered.
 */
export class TargetLabels {
  readonly #labels = new Map<string, Map<string, Labels>>();
  readonly #isKnownProvider: (provider: string) => boolean;
  readonly #isKnownModel: (provider: string, model: string) => boolean;
  #answered = 0;

  constructor(
    isKnownProvider: (provider: string) => boolean,
    isKnownModel: (provider: string, model: string) => boolean,
  ) {
    this.#isKnownProvider = isKnownProvider;
    this.#isKnownModel = isKnownModel;
  }

  /** Returns the labels of a target. A model without a label is counted as `other` of its provider. */
  get(provider: string, model: string, hasAnswered = false): Labels {
    const found = this.#labels.get(provider)?.get(model);
    if (found !== undefined) return found;
    if (provider === "") return ["", ""];
    if (!this.#isKnownProvider(provider)) return [OTHER, OTHER];
    if (model === "" || this.#isKnownModel(provider, model)) return this.#add(provider, model);
    if (!hasAnswered || this.#answered >= MAX_MODEL_LABELS) return [provider, OTHER];
    this.#answered += 1;
    return this.#add(provider, model);
  }

  #add(provider: string, model: string): Labels {
    const models = this.#labels.get(provider) ?? new Map<string, Labels>();
    const labels: Labels = [provider, model];
    this.#labels.set(provider, models.set(model, labels));
    return labels;
  }
}

const TARGET = ["provider", "model"];

/** Adds the metrics by provider and model. */
export function createModelMetrics(metrics: MetricSet, targets: TargetLabels): Omit<MeasuredCalls, "begin"> {
  const calls = metrics.counter(
    "outrigger_provider_calls_total",
    "Requests to providers that began, by RPC.",
    ["rpc"],
  );
  const attempts = metrics.counter(
    "outrigger_attempts_total",
    "Requests to providers that ended, by result: ok, failed, or repeated after a failure.",
    [...TARGET, "result"],
  );
  const attemptSeconds = metrics.histogram(
    "outrigger_attempt_seconds",
    "Duration of requests to providers, to the end of the answer.",
    TARGET,
  );
  const firstOutput = metrics.histogram(
    "outrigger_time_to_first_output_seconds",
    "Time of streams from their headers to the first text, reasoning, tool call or other part.",
    TARGET,
  );
  const betweenOutputs = metrics.histogram(
    "outrigger_time_per_output_token_seconds",
    "Mean time between the output tokens of a stream, from its first output to its end.",
    TARGET,
    TOKEN_SECONDS_BUCKETS,
  );
  const failures = metrics.counter(
    "outrigger_failed_calls_total",
    "Failed calls, by kind of error and by whose fault it was: caller, provider, network or sidecar.",
    [...TARGET, "kind", "failed_by"],
  );
  const overhead = metrics.histogram(
    "outrigger_overhead_seconds",
    "Time of model calls that neither a provider nor a queue took.",
    ["rpc"],
    OVERHEAD_BUCKETS,
  );
  const queue = metrics.histogram(
    "outrigger_queue_wait_seconds",
    "Time that model calls waited for a rate limit or before a retry.",
    ["rpc"],
  );
  const countUsage = createUsageMetrics(metrics);
  return {
    attempt: ({ rpc }) => calls.add([rpc]),
    attemptEnd(_call, { provider, model }, outcome) {
      const result = outcome.isRepeated ? "repeated" : outcome.error === undefined ? "ok" : "failed";
      const labels = targets.get(provider, model, outcome.usage !== undefined);
      attempts.add([...labels, result]);
      attemptSeconds.observe(labels, outcome.durationMs / 1000);
    },
    firstOutput(_call, { provider, model, elapsedMs }) {
      firstOutput.observe(targets.get(provider, model, true), elapsedMs / 1000);
    },
    end({ rpc }, outcome) {
      const { provider = "", model = "", usage, times, code, error, disconnected } = outcome;
      if (times !== undefined) {
        overhead.observe([rpc], times.ours / 1000);
        queue.observe([rpc], times.queue / 1000);
      }
      if ((code !== undefined || error !== undefined) && !disconnected) {
        const kind = error === undefined ? outcome.codeName : kindName(error.kind);
        failures.add([...targets.get(provider, model), kind, findFailedBy(outcome)]);
      }
      if (usage === undefined) return;
      const labels = targets.get(provider, model, true);
      countUsage(labels, usage);
      const { firstOutputMs, durationMs } = outcome;
      const { outputTokens } = usage;
      if (code !== undefined || firstOutputMs === undefined || outputTokens < 2) return;
      betweenOutputs.observe(labels, (durationMs - firstOutputMs) / 1000 / (outputTokens - 1));
    },
  };
}

/** Buckets of the time per token: from a small model on a fast machine to a large one under load. */
const TOKEN_SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1];

const OVERHEAD_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/** Adds the metrics of tokens and their prices. Returns the function that counts the usage of a call. */
function createUsageMetrics(metrics: MetricSet): (labels: Labels, usage: Usage) => void {
  const tokens = metrics.counter("outrigger_tokens_total", "Tokens as providers report them.", [
    ...TARGET,
    "direction",
  ]);
  const cached = metrics.counter(
    "outrigger_cached_tokens_total",
    "Input tokens read from, or written to, a provider's prompt cache.",
    [...TARGET, "operation"],
  );
  const cost = metrics.counter(
    "outrigger_cost_usd_total",
    "Cost of calls with a known price, in US dollars.",
    TARGET,
  );
  return (labels, { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costNanoUsd }) => {
    tokens.add([...labels, "input"], inputTokens);
    tokens.add([...labels, "output"], outputTokens);
    if (cacheReadTokens !== undefined) cached.add([...labels, "read"], cacheReadTokens);
    if (cacheWriteTokens !== undefined) cached.add([...labels, "write"], cacheWriteTokens);
    if (costNanoUsd !== undefined) cost.add(labels, toUsd(costNanoUsd));
  };
}

/** Converts billionths of a US dollar to dollars. */
export function toUsd(nanoUsd: bigint): number {
  return Number(nanoUsd) / 1e9;
}
