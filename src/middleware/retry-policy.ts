import { setTimeout as sleep } from "node:timers/promises";
import { isProviderTimeout, RequestTimeoutError, SDKError } from "../core/errors.ts";
import type { RepeatLimit } from "../core/repeat-limit.ts";
import { toAbortError } from "../kit/http/abort.ts";
import { LONGEST_TIMER_MS } from "../kit/http/timeouts.ts";
import { checkOption } from "./check-option.ts";

/** When and how often to retry. Times are in seconds. */
export interface RetryPolicy {
  /** Maximum number of retries after the first attempt, from 0 to 10. Defaults to 2; 0 disables retries. */
  readonly maxRetries: number;
  /** Delay before the first retry. Defaults to 1. */
  readonly baseDelay: number;
  /** Longest delay before jitter. If a provider asks for more, the call is not retried. Defaults to 60. */
  readonly maxDelay: number;
  /** Factor between one delay and the next. Defaults to 2. */
  readonly backoffMultiplier: number;
  /** Whether each delay is multiplied by a random factor from 0.5 to 1.5. Defaults to true. */
  readonly jitter: boolean;
  /**
   * Whether to retry after a time limit of the call ran out, with a new time limit. Defaults to false. A provider's
   * timeout (408, 504) is retried in any case.
   */
  readonly retryTimeouts: boolean;
  /**
   * Called before each wait with the error, the number of the retry from 0, and the delay in
   * seconds. An error that it throws ends the retries.
   */
  readonly onRetry?: ((error: SDKError, attempt: number, delay: number) => void) | undefined;
}

/** Highest `maxRetries`. More would keep a caller waiting for minutes, and multiply the calls. */
export const MAX_RETRIES = 10;

/** The default policy. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  maxRetries: 2,
  baseDelay: 1,
  maxDelay: 60,
  backoffMultiplier: 2,
  jitter: true,
  retryTimeouts: false,
};

/** Options of `retry` other than the policy. */
export interface RetryOptions {
  /** Ends the wait between attempts at once. A running attempt has to observe the signal itself. */
  readonly signal?: AbortSignal | undefined;
  /** The caller's deadline, in milliseconds of `performance.now()`. No wait is begun that would outlast it. */
  readonly deadline?: number | undefined;
  /** Ends the retries when the limit is reached. */
  readonly repeats?: RepeatLimit | undefined;
  /** Waits some milliseconds; rejects when the signal is aborted. Defaults to a timer. */
  readonly wait?: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
  /** A number from 0 to below 1. Defaults to `Math.random`. */
  readonly random?: () => number;
}

/**
 * Calls `attempt` until it succeeds, fails in a way that a retry cannot help, or the policy is exhausted; then throws
 * that failure. An SDKError is retried if it is `retryable` and output had not started. Client.complete and
 * Client.stream never retry; wrap them: `retry(() => client.complete(request), { maxRetries: 3 })`.
 *
 * @throws ConfigurationError if a number of the policy is out of range.
 */
export async function retry<Result>(
  attempt: () => Promise<Result>,
  policy: Partial<RetryPolicy> = {},
  options: RetryOptions = {},
): Promise<Result> {
  const rules = checkPolicy({ ...DEFAULT_RETRY_POLICY, ...policy });
  const { signal, deadline = Infinity, repeats, wait = waitFor, random = Math.random } = options;
  for (let retries = 0; ; retries += 1) {
    if (signal?.aborted) throw toAbortError(signal);
    try {
      return await attempt();
    } catch (error) {
      const delay = retryDelayOf(error, retries, rules, random);
      if (delay === undefined || !(error instanceof SDKError) || signal?.aborted) throw error;
      if (performance.now() + delay * 1000 >= deadline || repeats?.isReached) throw error;
      repeats?.add();
      rules.onRetry?.(error, retries, delay);
      await wait(delay * 1000, signal);
    }
  }
}

/**
 * Returns the seconds to wait before retry number `retries` (from 0) of a call that failed with `error`; undefined if
 * it must not be retried. A delay that the provider asks for takes precedence.
 */
export function retryDelayOf(
  error: unknown,
  retries: number,
  policy: RetryPolicy,
  random: () => number = Math.random,
): number | undefined {
  if (retries >= policy.maxRetries || !isWorthRetrying(error, policy)) return undefined;
  if (error.retryAfter !== undefined) {
    return error.retryAfter <= policy.maxDelay ? error.retryAfter : undefined;
  }
  const delay = Math.min(policy.baseDelay * policy.backoffMultiplier ** retries, policy.maxDelay);
  return policy.jitter ? delay * (0.5 + random()) : delay;
}

function isWorthRetrying(error: unknown, { retryTimeouts }: RetryPolicy): error is SDKError {
  if (!(error instanceof SDKError) || !error.retryable || error.outputStarted) return false;
  return retryTimeouts || !(error instanceof RequestTimeoutError) || isProviderTimeout(error);
}

/** @throws ConfigurationError if a number is out of range. */
export function checkPolicy(policy: RetryPolicy): RetryPolicy {
  const { maxRetries } = policy;
  const expected = `a whole number from 0 to ${MAX_RETRIES}`;
  checkOption("the retry policy's maxRetries", maxRetries, isRetryCount(maxRetries), expected);
  for (const name of ["baseDelay", "maxDelay", "backoffMultiplier"] as const)
    checkOption(`the retry policy's ${name}`, policy[name], policy[name] >= 0, "0 or more");
  return policy;
}

/** Reports whether a number may be `maxRetries`. */
export function isRetryCount(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_RETRIES;
}

/**
 * Waits some milliseconds.
 * @throws SDKError of the signal's reason, as soon as it is aborted.
 */
export async function waitFor(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  const time = Math.min(milliseconds, LONGEST_TIMER_MS);
  try {
    await sleep(time, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    throw signal?.aborted ? toAbortError(signal) : error;
  }
}
