/** Budgets of callers. Each applies to all calls of its caller, or to calls of some models. */
import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallerBudget } from "../core/caller.ts";
import { BoundedMap } from "./bounded-map.ts";
import { chooseMiddleware } from "./choose-middleware.ts";
import { combineMiddleware } from "./combine-middleware.ts";

/**
 * Maximum number of callers whose usage is counted. Another one replaces the caller that has been idle longest, whose
 * count then starts again. 10,000 callers with one budget each take about 10 MB.
 */
const MAX_CALLERS = 10_000;

/**
 * Maximum number of budgets of a caller that are counted. Tokens of one caller may have different budgets, by their
 * claims; each budget counts the calls of the tokens that it applies to.
 */
const MAX_COUNTERS = 64;

/**
 * Creates the middleware that counts one budget.
 * @param name Describes the caller, and the models of the budget, for errors.
 * @param caller Name of the caller.
 */
export type CreateCounter = (budget: CallerBudget, name: string, caller: string) => MiddlewareMethods;

/**
 * Enforces the budgets of each caller. Calls without a caller or without budgets pass. If a caller's budgets change,
 * unchanged ones keep their counts.
 */
export function createCallerBudgets(createCounter: CreateCounter): Required<MiddlewareMethods> {
  const callers = new BoundedMap<ChooseCounters>(MAX_CALLERS);
  return chooseMiddleware(({ provider, model }, { caller }) => {
    if (caller?.budgets === undefined) return undefined;
    const choose = callers.getOrCreate(caller.name, () => createCounters(caller.name, createCounter));
    return choose(caller.budgets, provider, model);
  });
}

/** A budget and the middleware that counts it. */
interface Counter {
  readonly budget: CallerBudget;
  readonly middleware: MiddlewareMethods;
}

/** Returns the middleware for a call of a model; undefined if no budget counts the call. */
type ChooseCounters = (
  budgets: readonly CallerBudget[],
  provider: string,
  model: string,
) => MiddlewareMethods | undefined;

function createCounters(name: string, create: CreateCounter): ChooseCounters {
  /** By the settings of the budgets. */
  const all = new BoundedMap<MiddlewareMethods>(MAX_COUNTERS);
  let current: readonly CallerBudget[] = [];
  let counters: readonly Counter[] = [];
  const use = (budgets: readonly CallerBudget[]) => {
    current = budgets;
    // A duplicate counts once.
    const byKey = new Map(budgets.map((budget) => [toKey(budget), budget]));
    counters = [...byKey].map(([key, budget]) => ({
      budget,
      middleware: all.getOrCreate(key, () => create(budget, describe(name, budget), name)),
    }));
  };
  return (budgets, provider, model) => {
    if (budgets !== current) use(budgets);
    const counting = counters.filter(({ budget }) => budget.countsModel(provider, model));
    return counting.length === 0
      ? undefined
      : combineMiddleware(counting.map(({ middleware }) => middleware));
  };
}

function toKey(budget: CallerBudget): string {
  const { window, requests, tokens, usd, allowUnknownPrices, shared, whenAway, models } = budget;
  return JSON.stringify([window, requests, tokens, usd, allowUnknownPrices, shared, whenAway, models]);
}

function describe(name: string, { models }: CallerBudget): string {
  return models === undefined ? `the caller ${name}` : `the caller ${name} and ${models.join(", ")}`;
}
