/** The smallest and the largest value of each option with limits, and the values next to them. */
import {
  ConfigurationError,
  createBudget,
  createCache,
  createCircuitBreaker,
  createFallback,
  createHedge,
  createRateLimit,
  createRetry,
} from "outrigger";
import { expect, it } from "vitest";
import { createEjectionRule } from "../../src/middleware/outlier-ejection.ts";

const toTargets = (count: number) => Array.from({ length: count }, (_, index) => ({ model: `m${index}` }));

type Create = (value: number) => unknown;

it.each<[option: string, allowed: number[], refused: number[], create: Create]>([
  ["the hedge's after", [0.001, 600], [0.0009, 600.001], (after) => createHedge({ after })],
  ["the hedge's percentile", [50, 99], [49, 100], (percentile) => createHedge({ percentile })],
  ["the hedge's max", [1, 3], [0, 4, 1.5], (max) => createHedge({ after: 1, max })],
  ["the hedge's budget", [0.001, 1], [0.0009, 1.001], (budget) => createHedge({ after: 1, budget })],
  ["the retry policy's maxRetries", [0, 10], [-1, 11, 1.5], (maxRetries) => createRetry({ maxRetries })],
  ["the retry policy's baseDelay", [0], [-0.001, Number.NaN], (baseDelay) => createRetry({ baseDelay })],
  ["the retry policy's maxDelay", [0], [-0.001], (maxDelay) => createRetry({ maxDelay })],
  ["the retry budget's ratio", [0], [-0.001, Infinity], (ratio) => createRetry({ budget: { ratio } })],
  [
    "the retry budget's minPerSecond",
    [0],
    [-0.001, Infinity],
    (minPerSecond) => createRetry({ budget: { minPerSecond } }),
  ],
  [
    "the rate limit's requestsPerMinute",
    [1],
    [0.999, Infinity],
    (requestsPerMinute) => createRateLimit({ requestsPerMinute }),
  ],
  [
    "the rate limit's tokensPerMinute",
    [1],
    [0.999, Infinity],
    (tokensPerMinute) => createRateLimit({ tokensPerMinute }),
  ],
  [
    "the rate limit's maxWait",
    [0, 3600],
    [-0.001, 3600.001],
    (maxWait) => createRateLimit({ requestsPerMinute: 1, maxWait }),
  ],
  ["the rate limit's maxQueue", [0], [-1], (maxQueue) => createRateLimit({ requestsPerMinute: 1, maxQueue })],
  [
    "the budget's requests",
    [1, Number.MAX_SAFE_INTEGER],
    [0, 2 ** 53],
    (requests) => createBudget({ window: "day", requests }),
  ],
  ["the budget's usd", [0.01, 1_000_000], [0, 1_000_000.01], (usd) => createBudget({ window: "day", usd })],
  [
    "the circuit breaker's failureRatio",
    [0.01, 1],
    [0, 1.01],
    (failureRatio) => createCircuitBreaker({ failureRatio }),
  ],
  ["the circuit breaker's minCalls", [1], [0], (minCalls) => createCircuitBreaker({ minCalls })],
  ["the circuit breaker's window", [0.001], [0], (window) => createCircuitBreaker({ window })],
  ["the circuit breaker's openFor", [0.001], [0], (openFor) => createCircuitBreaker({ openFor })],
  ["the cache's maxAge", [0.001], [0], (maxAge) => createCache({ maxAge })],
  ["the cache's maxBytes", [1], [0], (maxBytes) => createCache({ maxBytes })],
  ["the cache's maxEntries", [1], [0], (maxEntries) => createCache({ maxEntries })],
  ["a fallback has", [1, 8], [0, 9], (count) => createFallback({ targets: toTargets(count) })],
  [
    "the outlier ejection's consecutiveFailures",
    [1],
    [0],
    (consecutiveFailures) => createEjectionRule({ consecutiveFailures }),
  ],
  [
    "the outlier ejection's failureRatio",
    [0.01, 1],
    [0.009, 1.001],
    (failureRatio) => createEjectionRule({ failureRatio }),
  ],
  [
    "the outlier ejection's latencyFactor",
    [1.1, 1e6],
    [1.09],
    (latencyFactor) => createEjectionRule({ latencyFactor }),
  ],
  ["the outlier ejection's minCalls", [1, 256], [0, 257], (minCalls) => createEjectionRule({ minCalls })],
  ["the outlier ejection's interval", [0.001], [0.0009], (interval) => createEjectionRule({ interval })],
  ["the outlier ejection's baseTime", [0.001], [0.0009], (baseTime) => createEjectionRule({ baseTime })],
  ["the outlier ejection's maxTime", [30], [29.999], (maxTime) => createEjectionRule({ maxTime })],
  [
    "the outlier ejection's maxEjected",
    [0, 1],
    [-0.001, 1.001],
    (maxEjected) => createEjectionRule({ maxEjected }),
  ],
])("%s takes its limits, and refuses what is beyond", (option, allowed, refused, create) => {
  for (const value of allowed) expect(() => create(value)).not.toThrow();
  for (const value of refused) {
    expect(() => create(value)).toThrow(ConfigurationError);
    expect(() => create(value)).toThrow(option);
  }
});
