import { describe, expect, it } from "vitest";
import { createEjectionRule } from "../../src/middleware/outlier-ejection.ts";
import { TargetState } from "../../src/middleware/target-state.ts";

const rule = createEjectionRule({ minCalls: 2, baseTime: 5, maxTime: 12, latencyFactor: 3 });

describe("TargetState", () => {
  it("averages the times of each kind of call, the latest ones most", () => {
    const state = new TargetState();
    expect(state.getAverage("stream")).toBeUndefined();
    state.measure("stream", 100, 1);
    state.measure("stream", 200, 2);
    expect(state.getAverage("stream")).toBeCloseTo(130);
    expect(state.getAverage("complete")).toBeUndefined();
    expect(state.measuredAt).toBe(2);
  });

  it("counts a failure as ten seconds at least, and not among the times of the interval", () => {
    const state = new TargetState();
    state.measureFailure("complete", 3, 1);
    state.measureFailure("complete", 3, 2);
    expect(state.getAverage("complete")).toBe(10_000);
    expect(state.getMedian("complete", rule)).toBeUndefined();
    const slow = new TargetState();
    slow.measureFailure("complete", 60_000, 1);
    expect(slow.getAverage("complete")).toBe(60_000);
  });

  it("has the median of the latest 256 times of an interval with enough calls", () => {
    const state = new TargetState();
    state.measure("complete", 10, 0);
    expect(state.getMedian("complete", rule)).toBeUndefined();
    state.measure("complete", 40, 0);
    expect(state.getMedian("complete", rule)).toBe(25);
    state.measure("complete", 11, 0);
    expect(state.getMedian("complete", rule)).toBe(11);
    for (let left = 256; left > 0; left -= 1) state.measure("complete", 100, 0);
    for (let left = 200; left > 0; left -= 1) state.measure("complete", 1, 0);
    expect(state.getMedian("complete", rule)).toBe(1);
    state.beginInterval(0);
    expect(state.getMedian("complete", rule)).toBeUndefined();
  });

  it("is left out while its circuit breaker is open, or until a call succeeds", () => {
    const state = new TargetState();
    state.block(1000);
    expect([state.isAvailable(999), state.isAvailable(1000)]).toEqual([false, true]);
    state.count("failure");
    state.count("unknown");
    expect(state.isAvailable(0)).toBe(false);
    state.count("success");
    expect(state.isAvailable(0)).toBe(true);
  });

  it("counts failures in a row, which a success or an ejection ends and an unknown result does not", () => {
    const state = new TargetState();
    const results = ["failure", "unknown", "failure", "success", "failure"] as const;
    expect(results.map((result) => state.count(result))).toEqual([1, 0, 2, 0, 1]);
    state.eject(rule, 0);
    expect(state.count("failure")).toBe(1);
  });

  it("is ejected for longer each time, up to the maximum, and for less after an interval with calls", () => {
    const state = new TargetState();
    expect([0, 5000, 15_000].map((now) => state.eject(rule, now))).toEqual([5000, 10_000, 12_000]);
    expect([state.isEjected(26_999), state.isEjected(27_000)]).toEqual([true, false]);
    // Neither an interval within the ejection counts, nor one without calls.
    state.count("success");
    state.beginInterval(20_000);
    state.beginInterval(30_000);
    expect(state.eject(rule, 30_000)).toBe(12_000);
    for (let left = 3; left > 0; left -= 1) {
      state.count("success");
      state.beginInterval(50_000);
    }
    expect(state.eject(rule, 50_000)).toBe(10_000);
  });

  it("is ejected as if for the first time after an interval with one call", () => {
    const state = new TargetState();
    state.eject(rule, 0);
    state.count("success");
    state.beginInterval(5000);
    expect(state.eject(rule, 6000)).toBe(5000);
  });

  it("is an outlier if exactly its share of calls has failed, and not below", () => {
    const state = new TargetState();
    for (const result of ["success", "failure", "success"] as const) state.count(result);
    expect(state.findOutlier(rule, [])).toBeUndefined();
    state.count("failure");
    expect(state.findOutlier(rule, [])).toBe("failure_ratio");
    state.beginInterval(0);
    for (const result of ["success", "failure", "success"] as const) state.count(result);
    expect(state.findOutlier(rule, [])).toBeUndefined();
  });

  it("is an outlier by its failures or its times, if it and the others have enough calls", () => {
    const [state, other, third] = [new TargetState(), new TargetState(), new TargetState()];
    const measure = (target: TargetState, times: readonly number[]) => {
      for (const time of times) target.measure("stream", time, 0);
    };
    measure(state, [301, 301]);
    measure(other, [100]);
    expect(state.findOutlier(rule, [other, third])).toBeUndefined();
    measure(other, [100]);
    expect(state.findOutlier(rule, [other, third])).toBe("latency");
    expect(other.findOutlier({ ...rule, latencyFactor: 1 }, [other])).toBeUndefined();
    expect(other.findOutlier(rule, [state, third])).toBeUndefined();
    measure(third, [101, 101]);
    expect(state.findOutlier(rule, [other, third])).toBeUndefined();
    for (const result of ["failure", "success"] as const) {
      expect(state.findOutlier(rule, [])).toBeUndefined();
      state.count(result);
    }
    expect(state.findOutlier(rule, [])).toBe("failure_ratio");
  });
});
