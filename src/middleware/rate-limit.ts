import { estimateUsage } from "../client/estimate-usage.ts";
import type { MiddlewareMethods } from "../client/middleware.ts";
import { ConfigurationError, RateLimitError, type SDKError } from "../core/errors.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { checkOption } from "./check-option.ts";
import { describeCount } from "./describe.ts";
import { meterCalls, type Spent } from "./meter-calls.ts";
import type { MiddlewareObserver } from "./observer.ts";
import { refusal, refuseUncounted } from "./refusals.ts";
import { TokenBucket } from "./token-bucket.ts";
import {
  type QueueLimits,
  type QueueRefusal,
  type RateStore,
  type UncountedCall,
  WaitQueue,
} from "./wait-queue.ts";

/** Options of `createRateLimit`. At least one of the two limits is required. */
export interface RateLimitOptions {
  readonly requestsPerMinute?: number | undefined;
  /** Tokens of prompts and answers together. */
  readonly tokensPerMinute?: number | undefined;
  /** Maximum seconds that a call waits for its turn. 0 refuses it at once. Default 10. */
  readonly maxWait?: number | undefined;
  /** Maximum number of waiting calls. Default 100. */
  readonly maxQueue?: number | undefined;
  /** Name of the limited calls, for errors. Default `this client`. */
  readonly name?: string | undefined;
  /** Counts the calls. Default: the memory of this process. */
  readonly store?: RateStore | undefined;
  readonly observer?: MiddlewareObserver | undefined;
}

/** Longest `maxWait`, in seconds: no caller waits for longer. */
export const MAX_WAIT = 3600;

/**
 * Keeps calls within a rate, counted as providers count: the allowance of a minute may be used at once, and refills
 * steadily. Tokens are reserved by an estimate and settled by the real usage. A call that exceeds the limit waits in
 * order, or gets a RateLimitError and is not sent. Counts the calls of this process, unless there is a `store`.
 * @throws ConfigurationError if there is no limit, or an option is out of range.
 */
export function createRateLimit(options: RateLimitOptions): Required<MiddlewareMethods> {
  checkOptions(options);
  const limits = createLimits(options);
  const store = options.store ?? createLocalRateStore(options);
  return meterCalls(async (request, { signal, deadline = Infinity, timing }) => {
    const estimate = estimateUsage(request);
    // A call that needs more than a minute allows would never fit, so it runs when the whole minute is available.
    const taken = limits.map(({ perMinute, what }) =>
      Math.min(what === "requests" ? 1 : estimate.totalTokens, perMinute),
    );
    timing?.beginWait("queue");
    const turn = await store.take(taken, deadline - now(), signal).finally(() => timing?.endWait("queue"));
    if (typeof turn !== "function") throw refuse(request, turn, limits, options);
    return { estimate, settle: (spent) => turn(toUnused(limits, taken, spent)) };
  });
}

/** Creates a store that counts the calls of a rate limit in memory. */
export function createLocalRateStore(options: RateLimitOptions): RateStore {
  const buckets = createLimits(options).map(({ perMinute }) => new TokenBucket(perMinute, now));
  return new WaitQueue(buckets, getQueueLimits(options), now);
}

/** Returns the limits of the calls that wait for a rate limit. */
export function getQueueLimits({ maxWait = 10, maxQueue = 100 }: RateLimitOptions): QueueLimits {
  return { maxQueue, maxWaitMs: maxWait * 1000 };
}

/** Returns the amounts that a rate limit allows in a minute, in the order in which its store counts them. */
export function getAmountsPerMinute(options: RateLimitOptions): number[] {
  return createLimits(options).map(({ perMinute }) => perMinute);
}

interface Limit {
  readonly perMinute: number;
  readonly what: "requests" | "tokens";
}

function toUnused(limits: readonly Limit[], taken: readonly number[], { wasSent, usage }: Spent): number[] {
  const used = limits.map(({ what }) => {
    if (what === "tokens") return usage.totalTokens;
    return wasSent ? 1 : 0;
  });
  return taken.map((amount, index) => amount - (used[index] ?? 0));
}

function refuse(
  { provider, model }: Request,
  refused: QueueRefusal | UncountedCall,
  limits: readonly Limit[],
  { name = "this client", observer }: RateLimitOptions,
): SDKError {
  observer?.refused?.({ provider, model }, "rate_limit");
  if ("away" in refused) return refuseUncounted("rate limit", refused.away);
  const { bucket, waitMs } = refused;
  const limit = limits[bucket];
  const what = limit === undefined ? "calls" : describeCount(limit.perMinute, limit.what);
  const message = `the limit of ${what} per minute for ${name} is reached; retry in ${Math.ceil(waitMs / 1000)} s`;
  return refusal(new RateLimitError(message, { retryAfter: waitMs / 1000 }));
}

function createLimits({ requestsPerMinute, tokensPerMinute }: RateLimitOptions): Limit[] {
  const limits: Limit[] = [];
  const add = (what: Limit["what"], perMinute: number | undefined) => {
    if (perMinute !== undefined) limits.push({ what, perMinute });
  };
  add("requests", requestsPerMinute);
  add("tokens", tokensPerMinute);
  return limits;
}

function now(): number {
  return performance.now();
}

function checkOptions({
  requestsPerMinute,
  tokensPerMinute,
  maxWait = 0,
  maxQueue = 0,
}: RateLimitOptions): void {
  if (requestsPerMinute === undefined && tokensPerMinute === undefined)
    throw new ConfigurationError("a rate limit needs requestsPerMinute, tokensPerMinute or both");
  for (const [name, value] of Object.entries({ requestsPerMinute, tokensPerMinute })) {
    if (value === undefined) continue;
    checkOption(`the rate limit's ${name}`, value, value >= 1 && value < Infinity, "at least 1");
  }
  const isWait = maxWait >= 0 && maxWait <= MAX_WAIT;
  checkOption("the rate limit's maxWait", maxWait, isWait, `0 to ${MAX_WAIT} seconds`);
  checkOption("the rate limit's maxQueue", maxQueue, maxQueue >= 0, "0 or more");
}
