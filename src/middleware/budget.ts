import { type Catalog, defaultCatalog } from "../catalog/catalog.ts";
import { estimateUsage } from "../client/estimate-usage.ts";
import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallTarget } from "../core/adapter.ts";
import { compact } from "../core/compact.ts";
import { ConfigurationError, QuotaExceededError, type SDKError } from "../core/errors.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Usage } from "../gen/outrigger/v1/usage_pb.ts";
import {
  type Amount,
  type AmountLimits,
  type BudgetDecision,
  type BudgetPeriod,
  type BudgetStore,
  LocalBudgetStore,
} from "./budget-window.ts";
import { checkOption } from "./check-option.ts";
import { describeCount, describeTarget } from "./describe.ts";
import { meterCalls, type Spent } from "./meter-calls.ts";
import type { MiddlewareObserver } from "./observer.ts";
import { getPrice } from "./price.ts";
import { refusal, refuseUncounted } from "./refusals.ts";

/** Options of `createBudget`. At least one of the three limits is required. */
export interface BudgetOptions {
  /** The window in which the limits hold; it begins with an hour, a day or a month by UTC. */
  readonly window: BudgetPeriod;
  readonly requests?: number | undefined;
  /** Tokens of prompts and answers together. */
  readonly tokens?: number | undefined;
  /** US dollars, by the prices of the catalog or the cost that the provider reports. */
  readonly usd?: number | undefined;
  /**
   * Whether a limit in dollars allows calls to models without a known price. They count only if the provider reports a
   * cost, so the default is false.
   */
  readonly allowUnknownPrices?: boolean | undefined;
  /** Catalog for prices. Default: the shipped catalog. */
  readonly catalog?: Pick<Catalog, "costOf" | "getModelInfo"> | undefined;
  /** Name of the budget's owner, for errors. Default `this client`. */
  readonly name?: string | undefined;
  /** Keeps the sums. Default: the memory of this process. */
  readonly store?: BudgetStore | undefined;
  readonly observer?: MiddlewareObserver | undefined;
}

/** Maximum dollars of a budget, so that sums stay exact. */
const MAX_USD = 1_000_000;

/**
 * Limits the requests, tokens or cost of all calls in a window. The estimated usage of a call is reserved, and later
 * settled with its actual usage. A call that does not fit gets a QuotaExceededError and is not sent. Counts the calls
 * of this process since its start, unless there is a `store`.
 * @throws ConfigurationError if there is no limit, or one is out of range.
 */
export function createBudget(options: BudgetOptions): Required<MiddlewareMethods> {
  const { store = new LocalBudgetStore(options.window), catalog = defaultCatalog } = options;
  const limits = createLimits(options);
  /** Returns the cost in billionths of a US dollar; 0 if money does not count, undefined if the price is unknown. */
  const costOf = (usage: Usage, request: Request) => {
    if (limits.nanoUsd === undefined) return 0;
    const cost = usage.costNanoUsd ?? getPrice(catalog, usage, request);
    return cost === undefined ? undefined : Number(cost);
  };
  return meterCalls(async (request) => {
    const estimate = estimateUsage(request);
    const cost = costOf(estimate, request);
    if (cost === undefined && options.allowUnknownPrices !== true) throw refusal(unknownPrice(request));
    const amount = { requests: 1, tokens: estimate.totalTokens, nanoUsd: cost ?? 0 };
    const decision = await store.take(amount, limits);
    if (!("settle" in decision)) throw refuse(request, decision, limits, options);
    const settle = ({ wasSent, usage }: Spent) => {
      const nanoUsd = costOf(usage, request) ?? amount.nanoUsd;
      decision.settle({ requests: wasSent ? 1 : 0, tokens: usage.totalTokens, nanoUsd });
    };
    return { estimate, settle };
  });
}

function refuse(
  { provider, model }: CallTarget,
  decision: Exclude<BudgetDecision, { readonly settle: unknown }>,
  limits: AmountLimits,
  { name = "this client", observer, window }: BudgetOptions,
): SDKError {
  observer?.refused?.({ provider, model }, "budget");
  if ("away" in decision) return refuseUncounted("budget", decision.away);
  const limit = describe(decision.exceeded, limits[decision.exceeded] ?? 0);
  const reset = new Date(decision.resetsAt).toISOString();
  const message = `the budget of ${limit} per ${window} for ${name} has too little left for this call; it resets at ${reset}`;
  return refusal(new QuotaExceededError(message));
}

function describe(kind: keyof Amount, limit: number): string {
  return kind === "nanoUsd" ? `${limit / NANO} US dollars` : describeCount(limit, kind);
}

const NANO = 1e9;

function createLimits({ requests, tokens, usd }: BudgetOptions): AmountLimits {
  const given = Object.entries({ requests, tokens, usd }).filter(([, value]) => value !== undefined);
  if (given.length === 0)
    throw new ConfigurationError("a budget needs requests, tokens, usd or several of them");
  for (const [name, value = 0] of given) {
    const max = name === "usd" ? MAX_USD : Number.MAX_SAFE_INTEGER;
    checkOption(`the budget's ${name}`, value, value > 0 && value <= max, `above 0 and at most ${max}`);
  }
  return compact({ requests, tokens, nanoUsd: usd && Math.round(usd * NANO) });
}

function unknownPrice(target: CallTarget): SDKError {
  return new ConfigurationError(
    `a budget in US dollars applies, and the price of ${describeTarget(target)} is unknown; add it to the models of the catalog`,
  );
}
