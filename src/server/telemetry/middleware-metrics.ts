import type { CallTarget } from "../../core/adapter.ts";
import type { CircuitState } from "../../middleware/breaker.ts";
import type { MiddlewareObserver } from "../../middleware/observer.ts";
import { boundedText } from "../status/bounded-text.ts";
import { createCounter, createGaugeSet, type Metric } from "./prometheus.ts";

/** The decisions of middleware, as metrics. */
export interface MiddlewareMetrics {
  readonly observer: Required<MiddlewareObserver>;
  readonly all: readonly Metric[];
}

const TARGET = ["provider", "model"];

/** Callers choose the names, which may have any length. */
const MAX_NAME_BYTES = 128;

const CIRCUIT_VALUES: Readonly<Record<CircuitState, number>> = { closed: 0, half_open: 1, open: 2 };

/** @param getLabel Returns the labels of a provider and a model. There are finitely many. */
export function createMiddlewareMetrics(
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
  const getLabels = ({ provider, model }: CallTarget) =>
    getLabel(boundedText(provider, MAX_NAME_BYTES), boundedText(model, MAX_NAME_BYTES));
  return {
    all: [retries, fallbacks, circuits, refusals, lookups],
    observer: {
      retry: (target) => retries.add(getLabels(target)),
      fallback: (from) => fallbacks.add(getLabels(from)),
      circuit: (target, state) => circuits.set(getLabels(target), CIRCUIT_VALUES[state]),
      refused: (target, by) => refusals.add([...getLabels(target), by]),
      cache: (target, result) => lookups.add([...getLabels(target), result]),
    },
  };
}
