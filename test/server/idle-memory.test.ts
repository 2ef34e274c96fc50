import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createIdleMemory, type IdleMemory, MIN_CALLS, QUIET_MS } from "../../src/server/idle-memory.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function callMany(memory: IdleMemory, count: number): void {
  for (let call = 0; call < count; call++) {
    memory.begin();
    memory.end();
  }
}

describe("createIdleMemory()", () => {
  it("collects once when a load is over, and again after the next", () => {
    const collect = vi.fn();
    const memory = createIdleMemory(collect);
    callMany(memory, MIN_CALLS);
    vi.advanceTimersByTime(QUIET_MS - 1);
    expect(collect).not.toHaveBeenCalled();
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
    callMany(memory, MIN_CALLS);
    vi.advanceTimersByTime(QUIET_MS);
    expect(collect).toHaveBeenCalledTimes(2);
  });

  it("waits for the last call to end and for quiet after it", () => {
    const collect = vi.fn();
    const memory = createIdleMemory(collect);
    memory.begin();
    callMany(memory, MIN_CALLS);
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
    memory.end();
    vi.advanceTimersByTime(QUIET_MS / 2);
    callMany(memory, 1);
    vi.advanceTimersByTime(QUIET_MS / 2);
    expect(collect).not.toHaveBeenCalled();
    vi.advanceTimersByTime(QUIET_MS / 2);
    expect(collect).toHaveBeenCalledOnce();
  });

  it("leaves a few calls alone, and everything once it was stopped", () => {
    const collect = vi.fn();
    const memory = createIdleMemory(collect);
    callMany(memory, MIN_CALLS - 1);
    vi.advanceTimersByTime(QUIET_MS);
    callMany(memory, 1);
    memory.stop();
    callMany(memory, MIN_CALLS);
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("makes the heap smaller", () => {
    const memory = createIdleMemory();
    let garbage: unknown[] | undefined = Array.from({ length: 300_000 }, (_, index) => ({ index }));
    callMany(memory, MIN_CALLS);
    const before = process.memoryUsage().heapUsed;
    expect(garbage).toHaveLength(300_000);
    garbage = undefined;
    vi.advanceTimersByTime(QUIET_MS);
    expect(process.memoryUsage().heapUsed).toBeLessThan(before);
  });
});
