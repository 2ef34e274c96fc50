import type { MiddlewareMethods } from "../client/middleware.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { MiddlewareObserver } from "./observer.ts";
import { isRefusal } from "./refusals.ts";
import { repeatCalls } from "./repeat-calls.ts";
import { RetryBudget, type RetryBudgetOptions } from "./retry-budget.ts";
import { checkPolicy, DEFAULT_RETRY_POLICY, type RetryPolicy, retryDelayOf } from "./retry-policy.ts";

/** Options of `createRetry`: the policy, and a limit on the retries of all calls together. */
export interface RetryMiddlewareOptions extends Partial<RetryPolicy> {
  /** Limits the retries of each provider. `false` for no limit. */
  readonly budget?: RetryBudgetOptions | false | undefined;
  readonly observer?: MiddlewareObserver | undefined;
}

/** Maximum number of providers whose budgets are kept: more than anyone registers. */
const MAX_PROVIDERS = 100;

/**
 * Repeats a call that failed in a way that a retry can help, if no output has begun. Never waits beyond the caller's
 * deadline, and never for a limit or a circuit breaker of this process. The attempts that failed are in
 * `Response.attempts`.
 * @throws ConfigurationError if a number of the policy or the budget is negative or not a number.
 */
export function createRetry(options: RetryMiddlewareOptions = {}): Required<MiddlewareMethods> {
  const { budget, observer, ...changes } = options;
  const policy = checkPolicy({ ...DEFAULT_RETRY_POLICY, ...changes });
  const budgets = new BoundedMap<RetryBudget>(MAX_PROVIDERS);
  const createBudget = () => new RetryBudget(budget === false ? {} : budget);
  // Throws now, and not at the first failure, if an option is invalid.
  createBudget();
  // Created when a call fails, so that names that do not exist cannot push others out.
  const withdraw = (provider: string) =>
    budget === false || budgets.getOrCreate(provider, createBudget).withdraw();
  return repeatCalls((request, { deadline = Infinity }) => {
    budgets.get(request.provider)?.deposit();
    let retries = 0;
    return (error) => {
      const delay = isRefusal(error) ? undefined : retryDelayOf(error, retries, policy);
      if (delay === undefined || performance.now() + delay * 1000 >= deadline) return undefined;
      if (!withdraw(request.provider)) return undefined;
      policy.onRetry?.(error, retries, delay);
      observer?.retry?.(request, error, delay);
      retries += 1;
      return { request, delayMs: delay * 1000 };
    };
  });
}
