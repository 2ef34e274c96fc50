import { setTimeout as sleep } from "node:timers/promises";
import { ConfigurationError, RequestTimeoutError, SDKError } from "../core/errors.ts";
import { abortErrorOf } from "../kit/http/abort.ts";
import { LONGEST_TIMER_MS } from "../kit/http/timeouts.ts";

/** When and how often to try again (specification §6.6). Times are in seconds. */
export interface RetryPolicy {
  /** Most retries beside the first attempt. Defaults to 2; 0 switches retries off. */
  readonly maxRetries: number;
  /** Delay before the first retry. Defaults to 1. */
  readonly baseDelay: number;
  /** Longest delay before jitter. A provider that asks for more gets no retry. Defaults to 60. */
  readonly maxDelay: number;
  /** By how much each delay is longer than the one before. Defaults to 2. */
  readonly backoffMultiplier: number;
  /** Whether a delay varies between half and one and a half of itself. Defaults to true. */
  readonly jitter: boolean;
  /** Whether a RequestTimeoutError is retried too: the time limit then counts anew. Defaults to false. */
  readonly retryTimeouts: boolean;
  /**
   * Called before each wait with the error, the number of the retry from 0, and the delay in
   * seconds. What it throws ends the retries.
   */
  readonly onRetry?: ((error: SDKError, attempt: number, delay: number) => void) | undefined;
}

/** The policy where nothing else is said. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  maxRetries: 2,
  baseDelay: 1,
  maxDelay: 60,
  backoffMultiplier: 2,
  jitter: true,
  retryTimeouts: false,
};

/** What retries depend on beside their policy. */
export interface RetryOptions {
  /** Ends the wait between attempts at once. What runs is for `attempt` itself to end. */
  readonly signal?: AbortSignal | undefined;
  /** Waits some milliseconds; rejects when the signal is aborted. Defaults to a timer. */
  readonly wait?: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
  /** A number from 0 to below 1. Defaults to `Math.random`. */
  readonly random?: () => number;
}

/**
 * Calls `attempt` until it succeeds, its failure is not worth a retry, or the policy is used up;
 * then throws that failure. Retried is an SDKError that is `retryable` and came before the model
 * had begun to write. Client.complete and Client.stream never retry; wrap them in this:
 * `retry(() => client.complete(request), { maxRetries: 3 })`.
 *
 * @throws ConfigurationError where a number of the policy is negative or no number.
 */
export async function retry<Result>(
  attempt: () => Promise<Result>,
  policy: Partial<RetryPolicy> = {},
  options: RetryOptions = {},
): Promise<Result> {
  const rules = checkPolicy({ ...DEFAULT_RETRY_POLICY, ...policy });
  const { signal, wait = waitFor, random = Math.random } = options;
  for (let retries = 0; ; retries += 1) {
    if (signal?.aborted) throw abortErrorOf(signal);
    try {
      return await attempt();
    } catch (error) {
      const delay = retryDelayOf(error, retries, rules, random);
      if (delay === undefined || !(error instanceof SDKError)) throw error;
      rules.onRetry?.(error, retries, delay);
      await wait(delay * 1000, signal);
    }
  }
}

/**
 * Seconds to wait before retry number `retries` (from 0) of what failed with `error`; undefined
 * where it must not be retried. The delay that a provider asks for goes before the computed one.
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
  return retryTimeouts || !(error instanceof RequestTimeoutError);
}

function checkPolicy(policy: RetryPolicy): RetryPolicy {
  for (const name of ["maxRetries", "baseDelay", "maxDelay", "backoffMultiplier"] as const) {
    if (policy[name] >= 0) continue;
    throw new ConfigurationError(`the retry policy's ${name} is ${policy[name]}; expected 0 or more`);
  }
  return policy;
}

async function waitFor(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  const time = Math.min(milliseconds, LONGEST_TIMER_MS);
  try {
    await sleep(time, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    throw signal?.aborted ? abortErrorOf(signal) : error;
  }
}
