import { compact } from "../core/compact.ts";
import { checkOption } from "./check-option.ts";

/**
 * When a target of an alias is left out because it is worse than the others, after Envoy's outlier detection. Failures
 * are those that count for a circuit breaker.
 */
export interface OutlierEjection {
  /** Failures in a row that eject a target, from 1. Default 5. */
  readonly consecutiveFailures?: number | undefined;
  /** Share of the calls of an interval that must fail, above 0 and at most 1. Default 0.5. */
  readonly failureRatio?: number | undefined;
  /**
   * How many times slower than the median of the other targets a target must be in an interval, from 1.1: by its median
   * time to the first output, or to a whole answer. Default: slow targets are not ejected.
   */
  readonly latencyFactor?: number | undefined;
  /** Minimum number of calls in an interval for its failures and times to count, from 1 to 256. Default 10. */
  readonly minCalls?: number | undefined;
  /** Seconds after which the failures and times of an interval are compared. Default 10. */
  readonly interval?: number | undefined;
  /** Seconds of the first ejection; each further one lasts as many seconds more. Default 30. */
  readonly baseTime?: number | undefined;
  /** Maximum duration of an ejection in seconds. Default 300. */
  readonly maxTime?: number | undefined;
  /** Share of the targets that may be ejected at the same time, rounded down to whole targets. Default 0.5. */
  readonly maxEjected?: number | undefined;
}

/** An ejection with a value for each field. */
export type EjectionRule = {
  readonly [Name in keyof OutlierEjection]-?: NonNullable<OutlierEjection[Name]>;
};

const DEFAULTS: EjectionRule = {
  consecutiveFailures: 5,
  failureRatio: 0.5,
  latencyFactor: Infinity,
  minCalls: 10,
  interval: 10,
  baseTime: 30,
  maxTime: 300,
  maxEjected: 0.5,
};

/** Creates the rule of an ejection. @throws ConfigurationError if an option is out of range. */
export function createEjectionRule(options: OutlierEjection): EjectionRule {
  const rule = { ...DEFAULTS, ...compact(options) };
  check("consecutiveFailures", rule.consecutiveFailures, 1, Infinity);
  check("failureRatio", rule.failureRatio, 0.01, 1);
  check("latencyFactor", rule.latencyFactor, 1.1, Infinity);
  check("minCalls", rule.minCalls, 1, 256);
  check("interval", rule.interval, 0.001, Infinity);
  check("baseTime", rule.baseTime, 0.001, Infinity);
  check("maxTime", rule.maxTime, rule.baseTime, Infinity);
  check("maxEjected", rule.maxEjected, 0, 1);
  return rule;
}

function check(name: string, value: number, min: number, max: number): void {
  const expected = max === Infinity ? `${min} or more` : `from ${min} to ${max}`;
  checkOption(`the outlier ejection's ${name}`, value, value >= min && value <= max, expected);
}
