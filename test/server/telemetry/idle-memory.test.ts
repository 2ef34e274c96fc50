import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  createIdleMemory,
  type IdleMemory,
  MIN_NOTES,
  QUIET_MS,
} from "../../../src/server/telemetry/idle-memory.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function note(memory: IdleMemory, count: number): void {
  for (let index = 0; index < count; index++) memory.note();
}

/** An idle memory whose event loop is as busy as it is told, and the collections that it asks for. */
function watched() {
  const collect = vi.fn();
  const loop = { busyShare: 0 };
  const memory = createIdleMemory({ collect, readBusyShare: () => loop.busyShare });
  return { memory, collect, loop };
}

describe("createIdleMemory()", () => {
  it("collects once when a load is over, and again after the next", () => {
    const { memory, collect } = watched();
    note(memory, MIN_NOTES);
    vi.advanceTimersByTime(QUIET_MS - 1);
    expect(collect).not.toHaveBeenCalled();
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
    note(memory, MIN_NOTES);
    vi.advanceTimersByTime(QUIET_MS);
    expect(collect).toHaveBeenCalledTimes(2);
  });

  it("waits while the event loop is busy, whether calls come and go or not", () => {
    const { memory, collect, loop } = watched();
    loop.busyShare = 0.5;
    note(memory, MIN_NOTES);
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
    loop.busyShare = 0.01;
    vi.advanceTimersByTime(QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
  });

  it("leaves a few calls alone, and adds them up", () => {
    const { memory, collect } = watched();
    note(memory, MIN_NOTES - 1);
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
    note(memory, 1);
    vi.advanceTimersByTime(QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
  });

  it("does nothing once it was stopped", () => {
    const { memory, collect } = watched();
    note(memory, MIN_NOTES);
    memory.stop();
    note(memory, MIN_NOTES);
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("makes the heap smaller", () => {
    const memory = createIdleMemory({ readBusyShare: () => 0 });
    let garbage: unknown[] | undefined = Array.from({ length: 300_000 }, (_, index) => ({ index }));
    note(memory, MIN_NOTES);
    const before = process.memoryUsage().heapUsed;
    expect(garbage).toHaveLength(300_000);
    garbage = undefined;
    vi.advanceTimersByTime(QUIET_MS);
    expect(process.memoryUsage().heapUsed).toBeLessThan(before);
  });
});
