import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CallTiming } from "../../src/core/call-timing.ts";

describe("CallTiming", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("splits the time of a call into its parts, and counts requests at the same time once", () => {
    const timing = new CallTiming(performance.now());
    const after = (ms: number) => vi.advanceTimersByTime(ms);
    after(1);
    timing.begin("queue");
    after(10);
    timing.end("queue");
    after(2);
    timing.begin("provider");
    after(100);
    timing.begin("provider");
    after(100);
    timing.end("provider");
    expect(timing.read()).toEqual({ total: 213, ours: 3, provider: 200, queue: 10 });
    after(50);
    timing.end("provider");
    after(4);
    expect(timing.read()).toEqual({ total: 267, ours: 7, provider: 250, queue: 10 });
  });
});
