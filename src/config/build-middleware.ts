import type { Catalog } from "../catalog/catalog.ts";
import { toSnakeCase } from "../catalog/model-settings.ts";
import type { MiddlewareMethods } from "../client/middleware.ts";
import type { Log } from "../core/log.ts";
import { type AliasRoutingOptions, createAliasRouting } from "../middleware/alias-routing.ts";
import { type BudgetOptions, createBudget } from "../middleware/budget.ts";
import { type BudgetStore, LocalBudgetStore } from "../middleware/budget-window.ts";
import { createCache } from "../middleware/cache.ts";
import { createCallerBudgets } from "../middleware/caller-budgets.ts";
import { chooseMiddleware, isWithin } from "../middleware/choose-middleware.ts";
import { createCircuitBreaker } from "../middleware/circuit-breaker.ts";
import { combineMiddleware } from "../middleware/combine-middleware.ts";
import { createFallback } from "../middleware/fallback.ts";
import { createHedge } from "../middleware/hedge.ts";
import { type AttemptEntry, createLogging } from "../middleware/logging.ts";
import { createModelAccess } from "../middleware/model-access.ts";
import type { MiddlewareObserver } from "../middleware/observer.ts";
import { createRateLimit } from "../middleware/rate-limit.ts";
import { createRetry } from "../middleware/retry.ts";
import type { SharedStores } from "../middleware/shared/shared-stores.ts";
import type { ClientConfig, FallbackRule, MiddlewareConfig } from "./config.ts";
import type { CallRules } from "./middleware-schema.ts";
import { ReusableClientParts, type ReusableParts } from "./reusable-parts.ts";
import { createRuleLevels } from "./rule-levels.ts";

/** The parts that the middleware of a configuration uses. */
export interface MiddlewareParts {
  /** As returned by `createCatalogWith`. */
  readonly catalog: Catalog;
  /** Takes the entries of `logging`. */
  readonly log: Log;
  /** Is notified of the middleware's decisions. */
  readonly observer?: MiddlewareObserver | undefined;
  /** The parts of the previous configuration, if there was one. */
  readonly kept?: ReusableClientParts | undefined;
  /** Prices for budgets, which may outlive the catalog. Default: the catalog. */
  readonly prices?: BudgetOptions["catalog"] | undefined;
  /** Stores of the rules that sidecars share. Undefined if there are none. */
  readonly shared?: SharedStores | undefined;
}

/**
 * Creates the middleware of a configuration, outermost first. The target of an alias is chosen before all else. A retry
 * is within a fallback, so that the next provider is asked once the retries are used up, and everything that counts or
 * refuses calls is within the retry, and thus within a hedge as well. The caller's permissions are checked for every
 * target of a fallback, and before the cache returns responses.
 * @param cacheContext The settings of the providers: cached answers are dropped if they change.
 */
export function buildMiddleware(
  { middleware, models, hasCallers, providers }: ClientConfig,
  {
    catalog,
    log,
    observer,
    kept: earlier = new ReusableClientParts(),
    prices = catalog,
    shared,
  }: MiddlewareParts,
  cacheContext?: unknown,
): MiddlewareMethods[] {
  const { modelAliases, fallbacks } = middleware;
  const { middleware: kept, sums } = earlier;
  const levels = createRuleLevels(middleware, models, catalog, kept);
  const excludedProviders = listProvidersWithEffects(providers);
  const createBudgets = () => buildCallerBudgets({ catalog: prices, observer }, shared, log);
  return [
    ...buildAliases(modelAliases, kept, { catalog: prices, excludedProviders, observer }),
    ...(fallbacks.length === 0 ? [] : [buildFallbacks(fallbacks, observer)]),
    ...levels.mostSpecific(
      "hedge",
      (rule) => createHedge({ ...rule, excludedProviders, observer }),
      excludedProviders,
    ),
    ...(hasCallers ? [createModelAccess()] : []),
    ...levels.mostSpecific(
      "cache",
      (rule) => createCache({ ...rule, store: shared?.cache(rule), observer }),
      cacheContext,
    ),
    ...levels.mostSpecific("retries", (rule) => createRetry({ ...rule, observer })),
    ...levels.mostSpecific("circuitBreaker", (rule) => {
      const store = shared?.breakers(rule, (target, state) => observer?.circuit?.(target, state));
      return createCircuitBreaker({ ...rule, store, observer });
    }),
    ...(hasCallers ? [kept.keep("caller budgets", undefined, createBudgets)] : []),
    ...levels.everyLevel(
      "budgets",
      (rules, name) => buildBudgets(rules, { name, catalog: prices, observer }, shared, sums),
      false,
    ),
    ...levels.everyLevel("rateLimit", (rule, name) =>
      createRateLimit({ ...rule, store: shared?.rateLimit(rule, name), name, observer }),
    ),
    ...levels.mostSpecific("logging", (rule) => createAttemptLog(rule, log)),
  ];
}

/** An alias that does not change keeps its measurements of its targets. */
function buildAliases(
  aliases: MiddlewareConfig["modelAliases"],
  kept: ReusableParts<MiddlewareMethods>,
  options: AliasRoutingOptions,
): MiddlewareMethods[] {
  const routed = Object.entries(aliases).filter(
    ([, alias]) => "targets" in alias || alias.fallbacks !== undefined || alias.hedge !== undefined,
  );
  if (routed.length === 0) return [];
  const routes = new Map(
    routed.map(([name, alias]) => [
      name,
      kept.keep(`alias ${name}`, [alias, options.excludedProviders], () =>
        createAliasRouting({ [name]: alias }, options),
      ),
    ]),
  );
  return [chooseMiddleware((_request, { modelAlias = "" }) => routes.get(modelAlias))];
}

/** Returns the providers that run a program or store answers: hedging would do so twice. */
function listProvidersWithEffects(providers: ClientConfig["providers"]): string[] {
  return [...providers].flatMap(([name, settings]) => {
    const storesAnswers = "store" in settings && settings.store === true;
    return settings.api === "command" || storesAnswers ? [name] : [];
  });
}

type BudgetParts = Pick<BudgetOptions, "name" | "catalog" | "observer">;

/** A budget keeps its sums if its amounts change. */
function buildBudgets(
  rules: NonNullable<CallRules["budgets"]>,
  parts: BudgetParts & { readonly name: string },
  shared: SharedStores | undefined,
  keptSums: ReusableParts<BudgetStore>,
): MiddlewareMethods {
  const keys = new Set<string>();
  const budgets = rules.map((rule) => {
    let key = toBudgetKey(rule, [parts.name]);
    // A second budget of the same amounts counts separately.
    while (keys.has(key)) key += "+";
    keys.add(key);
    const createStore = () => shared?.budget(rule, key) ?? new LocalBudgetStore(rule.window);
    const store = keptSums.keep(key, [rule.shared, rule.whenAway], createStore);
    return createBudget({ ...rule, ...parts, store });
  });
  return combineMiddleware(budgets);
}

function buildCallerBudgets(
  parts: BudgetParts,
  shared: SharedStores | undefined,
  log: Log,
): MiddlewareMethods {
  return createCallerBudgets((budget, name, caller) => {
    const store = shared?.budget(budget, toBudgetKey(budget, ["caller", caller, ...(budget.models ?? [])]));
    const isShared = budget.shared !== undefined && budget.shared !== false;
    if (isShared && store === undefined)
      log.warn({ caller }, "counting a shared budget in this process only: no server for it is configured");
    return createBudget({ ...budget, ...parts, name, store });
  });
}

/**
 * Returns the key under which sidecars share a budget: its place in the configuration, its window, and the quantities
 * that it limits. It does not contain the amounts, so that a changed limit keeps its counts.
 */
function toBudgetKey({ window, requests, tokens, usd }: BudgetOptions, place: readonly string[]): string {
  const kinds = Object.entries({ requests, tokens, usd }).filter(([, limit]) => limit !== undefined);
  return JSON.stringify([...place, window, ...kinds.map(([kind]) => kind)]);
}

function buildFallbacks(
  rules: readonly FallbackRule[],
  observer: MiddlewareObserver | undefined,
): MiddlewareMethods {
  const chains = rules.map((rule) => ({ rule, chain: createFallback({ ...rule, observer }) }));
  return chooseMiddleware(
    (request, options) => chains.find(({ rule }) => isWithin(request, rule, options))?.chain,
  );
}

/** Logs attempts according to a rule, with the same field names as other lines of the log. */
function createAttemptLog(
  { redact = [], ...rule }: NonNullable<CallRules["logging"]>,
  log: Log,
): MiddlewareMethods {
  return createLogging({
    ...rule,
    redact: (text) => redact.reduce((rest, pattern) => rest.replace(pattern, "[redacted]"), text),
    log: (entry) => log.info(toFields(entry), "attempt"),
  });
}

function toFields(entry: AttemptEntry): object {
  return Object.fromEntries(Object.entries(entry).map(([name, value]) => [toSnakeCase(name), value]));
}
