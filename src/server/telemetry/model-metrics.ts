/** Metrics of calls by provider and model. */
import { kindName } from "../status/status-code.ts";
import type { MeasuredCalls, Outcome } from "./call-observer.ts";
import { findFailedBy } from "./failed-call.ts";
import { createCounter, createHistogram, type Metric, SECONDS_BUCKETS } from "./prometheus.ts";

/** Maximum number of models with a separate label that are not known, but have answered. */
export const MAX_MODEL_LABELS = 100;

type Labels = readonly [provider: string, model: string];

const OTHER = "other";

/**
 * The labels of providers and models. Their number is finite, although callers choose the names freely: a model has a
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

/** Metrics by provider and model. */
export interface ModelMetrics {
  readonly observer: Omit<MeasuredCalls, "begin">;
  readonly all: readonly Metric[];
}

const TARGET = ["provider", "model"];

/** Creates the metrics by provider and model. */
export function createModelMetrics(targets: TargetLabels): ModelMetrics {
  const calls = createCounter({
    name: "outrigger_provider_calls_total",
    help: "Requests to providers that began, by the RPC that they serve.",
    labels: ["rpc"],
  });
  const attempts = createCounter({
    name: "outrigger_attempts_total",
    help: "Requests to providers that ended, by result; repeated ones failed and were sent again, or elsewhere.",
    labels: [...TARGET, "result"],
  });
  const attemptSeconds = createHistogram(
    {
      name: "outrigger_attempt_seconds",
      help: "Duration of requests to providers, from their beginning to the end of the answer.",
      labels: TARGET,
    },
    SECONDS_BUCKETS,
  );
  const firstOutput = createHistogram(
    {
      name: "outrigger_time_to_first_output_seconds",
      help: "Time of streams from their headers to the first text, reasoning, tool call or other part.",
      labels: TARGET,
    },
    SECONDS_BUCKETS,
  );
  const betweenOutputs = createHistogram(
    {
      name: "outrigger_time_per_output_token_seconds",
      help: "Mean time between the output tokens of a stream, from its first output to its end.",
      labels: TARGET,
    },
    TOKEN_SECONDS_BUCKETS,
  );
  const failures = createCounter({
    name: "outrigger_failed_calls_total",
    help: "Calls that failed, by kind of error and by whose fault it was: caller, provider, network or sidecar.",
    labels: [...TARGET, "kind", "failed_by"],
  });
  const waits = createWaitMetrics();
  const usages = createUsageMetrics();
  return {
    all: [
      calls,
      attempts,
      attemptSeconds,
      firstOutput,
      betweenOutputs,
      failures,
      ...waits.all,
      ...usages.all,
    ],
    observer: {
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
        const { provider = "", model = "", usage, code, error, disconnected } = outcome;
        waits.end(rpc, outcome);
        if ((code !== undefined || error !== undefined) && !disconnected) {
          const kind = error === undefined ? outcome.codeName : kindName(error.kind);
          failures.add([...targets.get(provider, model), kind, findFailedBy(outcome)]);
        }
        if (usage === undefined) return;
        const labels = targets.get(provider, model, true);
        usages.add(labels, usage);
        const { firstOutputMs, durationMs } = outcome;
        const { outputTokens } = usage;
        if (code !== undefined || firstOutputMs === undefined || outputTokens < 2) return;
        betweenOutputs.observe(labels, (durationMs - firstOutputMs) / 1000 / (outputTokens - 1));
      },
    },
  };
}

/** From a small model on a fast machine to a large one under load. */
const TOKEN_SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1];

interface WaitMetrics {
  end(rpc: string, outcome: Outcome): void;
  readonly all: readonly Metric[];
}

/** Creates the metrics of the parts of a call's time. */
function createWaitMetrics(): WaitMetrics {
  const overhead = createHistogram(
    {
      name: "outrigger_overhead_seconds",
      help: "Time of calls of models that was spent neither by a provider nor in a queue.",
      labels: ["rpc"],
    },
    OVERHEAD_BUCKETS,
  );
  const queue = createHistogram(
    {
      name: "outrigger_queue_wait_seconds",
      help: "Time that calls of models waited for a limit of the rate, or before a retry.",
      labels: ["rpc"],
    },
    SECONDS_BUCKETS,
  );
  return {
    all: [overhead, queue],
    end(rpc, { times }) {
      if (times === undefined) return;
      overhead.observe([rpc], times.ours / 1000);
      queue.observe([rpc], times.queue / 1000);
    },
  };
}

const OVERHEAD_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

interface UsageMetrics {
  add(labels: Labels, usage: NonNullable<Outcome["usage"]>): void;
  readonly all: readonly Metric[];
}

/** Creates the metrics of tokens and their prices. */
function createUsageMetrics(): UsageMetrics {
  const tokens = createCounter({
    name: "outrigger_tokens_total",
    help: "Tokens as providers report them.",
    labels: [...TARGET, "direction"],
  });
  const cached = createCounter({
    name: "outrigger_cached_tokens_total",
    help: "Input tokens that were read from, or written to, the prompt cache of a provider.",
    labels: [...TARGET, "operation"],
  });
  const cost = createCounter({
    name: "outrigger_cost_usd_total",
    help: "Cost of calls with a known price, in US dollars.",
    labels: TARGET,
  });
  return {
    all: [tokens, cached, cost],
    add(labels, { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costNanoUsd }) {
      tokens.add([...labels, "input"], inputTokens);
      tokens.add([...labels, "output"], outputTokens);
      if (cacheReadTokens !== undefined) cached.add([...labels, "read"], cacheReadTokens);
      if (cacheWriteTokens !== undefined) cached.add([...labels, "write"], cacheWriteTokens);
      if (costNanoUsd !== undefined) cost.add(labels, toUsd(costNanoUsd));
    },
  };
}

/** Converts billionths of a US dollar. */
export function toUsd(nanoUsd: bigint): number {
  return Number(nanoUsd) / 1e9;
}
