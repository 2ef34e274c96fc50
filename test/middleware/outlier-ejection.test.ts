import { ConfigurationError } from "outrigger";
import { describe, expect, it } from "vitest";
import { createEjectionRule, type OutlierEjection } from "../../src/middleware/outlier-ejection.ts";

describe("createEjectionRule()", () => {
  it("has the documented defaults", () => {
    expect(createEjectionRule({})).toEqual({
      consecutiveFailures: 5,
      failureRatio: 0.5,
      latencyFactor: Infinity,
      minCalls: 10,
      interval: 10,
      baseTime: 30,
      maxTime: 300,
      maxEjected: 0.5,
    });
  });

  it("accepts the bounds of each option", () => {
    const lowest = {
      consecutiveFailures: 1,
      failureRatio: 0.01,
      latencyFactor: 1.1,
      minCalls: 1,
      interval: 0.001,
      baseTime: 0.001,
      maxTime: 0.001,
      maxEjected: 0,
    };
    expect(createEjectionRule(lowest)).toMatchObject({ latencyFactor: 1.1, minCalls: 1, maxEjected: 0 });
    const highest = { failureRatio: 1, minCalls: 256, maxEjected: 1 };
    expect(createEjectionRule(highest)).toMatchObject(highest);
  });

  it.each<[OutlierEjection, string]>([
    [{ consecutiveFailures: 0 }, "consecutiveFailures is 0; expected 1 or more"],
    [{ failureRatio: 0.009 }, "failureRatio is 0.009; expected from 0.01 to 1"],
    [{ failureRatio: 1.1 }, "failureRatio is 1.1; expected from 0.01 to 1"],
    [{ latencyFactor: 1 }, "latencyFactor is 1; expected 1.1 or more"],
    [{ minCalls: 0 }, "minCalls is 0; expected from 1 to 256"],
    [{ minCalls: 257 }, "minCalls is 257; expected from 1 to 256"],
    [{ interval: 0 }, "interval is 0; expected 0.001 or more"],
    [{ baseTime: Number.NaN }, "baseTime is NaN; expected 0.001 or more"],
    [{ baseTime: 60, maxTime: 59 }, "maxTime is 59; expected 60 or more"],
    [{ maxEjected: 1.5 }, "maxEjected is 1.5; expected from 0 to 1"],
  ])("refuses %o", (options, problem) => {
    expect(() => createEjectionRule(options)).toThrow(ConfigurationError);
    expect(() => createEjectionRule(options)).toThrow(problem);
  });
});
