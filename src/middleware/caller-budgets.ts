/** Budgets of callers. Each holds for all calls of its caller, or for calls of some models. */
import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallerBudget } from "../core/caller.ts";
import { BoundedMap } from "./bounded-map.ts";
import { chooseMiddleware } from "./choose-middleware.ts";
import { combineMiddleware } from "./combine-middleware.ts";

/**
 * Maximum number of callers whose use is counted; a further one takes the place of the one that has not called for the
 * longest time, whose count begins again. 10,000 callers with one budget each take about 10 MB.
 */
const MAX_CALLERS = 10_000;

/**
 * Maximum number of budgets of a caller that are counted. Tokens of one caller may have different budgets, by their
 * claims; each budget counts the calls with the tokens that it holds for.
 */
const MAX_COUNTERS = 64;

/**
 * Creates the middleware that counts one budget.
 * @param name The caller, for errors.
 * @param caller The caller's name.
 */
export type CreateCounter = (budget: CallerBudget, name: string, caller: string) => MiddlewareMethods;

/**
 * Keeps the calls of each caller within the caller's budgets. A call without a caller, or of one without budgets,
 * passes. If a caller's budgets change, those that stay the same keep their counts.
 */
export function createCallerBudgets(createCounter: CreateCounter): Required<MiddlewareMethods> {
  const callers = new BoundedMap<Counters>(MAX_CALLERS);
  return chooseMiddleware(({ provider, model }, { caller }) => {
    if (caller?.budgets === undefined) return undefined;
    const counters = callers.getOrCreate(caller.name, () => new Counters(caller.name, createCounter));
    return counters.forModel(caller.budgets, provider, model);
  });
}

/** A budget and the middleware that counts it. */
interface Counter {
  readonly budget: CallerBudget;
  readonly middleware: MiddlewareMethods;
}

class Counters {
  readonly #name: string;
  readonly #create: CreateCounter;
  /** By the settings of the budgets. */
  readonly #all = new BoundedMap<MiddlewareMethods>(MAX_COUNTERS);
  #budgets: readonly CallerBudget[] = [];
  #current: readonly Counter[] = [];

  constructor(name: string, create: CreateCounter) {
    this.#name = name;
    this.#create = create;
  }

  /** Returns the middleware for a call of a model; undefined if no budget counts the call. */
  forModel(budgets: readonly CallerBudget[], provider: string, model: string): MiddlewareMethods | undefined {
    if (budgets !== this.#budgets) this.#use(budgets);
    const counting = this.#current.filter(({ budget }) => budget.countsModel(provider, model));
    return counting.length === 0
      ? undefined
      : combineMiddleware(counting.map(({ middleware }) => middleware));
  }

  #use(budgets: readonly CallerBudget[]): void {
    this.#budgets = budgets;
    // A budget that is listed twice counts once.
    const byKey = new Map(budgets.map((budget) => [toKey(budget), budget]));
    this.#current = [...byKey].map(([key, budget]) => ({
      budget,
      middleware: this.#all.getOrCreate(key, () =>
        this.#create(budget, describe(this.#name, budget), this.#name),
      ),
    }));
  }
}

function toKey(budget: CallerBudget): string {
  const { window, requests, tokens, usd, allowUnknownPrices, shared, whenAway, models } = budget;
  return JSON.stringify([window, requests, tokens, usd, allowUnknownPrices, shared, whenAway, models]);
}

function describe(name: string, { models }: CallerBudget): string {
  return models === undefined ? `the caller ${name}` : `the caller ${name} and ${models.join(", ")}`;
}
