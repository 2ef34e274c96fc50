import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createCall } from "../../../src/server/telemetry/call.ts";
import {
  createIdleMemory,
  type IdleMemory,
  MIN_CHANGES,
  MIN_GROWTH_BYTES,
  QUIET_MS,
} from "../../../src/server/telemetry/idle-memory.ts";
import { outcomeOf } from "../support/outcome.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const CALL = createCall({ rpc: "acme.Service/Do", requestId: "r", httpVersion: "2.0", protocol: "grpc" });
const PROBE = { ...CALL, rpc: "grpc.health.v1.Health/Check" };

/** Lets a number of calls arrive. */
function begin(memory: IdleMemory, count: number, call = CALL): void {
  for (let index = 0; index < count; index++) memory.begin(call);
}

/** An idle memory with a scripted load of the event loop, and its collections. */
function watched() {
  const collect = vi.fn();
  const loop = { busyShare: 0 };
  const heap = { bytes: 0 };
  const memory = createIdleMemory({
    collect,
    readHeldBytes: () => heap.bytes,
    readBusyShare: () => loop.busyShare,
  });
  return { memory, collect, loop, heap };
}

describe("createIdleMemory()", () => {
  it("collects once when a load is over, and again after the next", () => {
    const { memory, collect } = watched();
    begin(memory, MIN_CHANGES);
    vi.advanceTimersByTime(QUIET_MS - 1);
    expect(collect).not.toHaveBeenCalled();
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
    begin(memory, MIN_CHANGES);
    vi.advanceTimersByTime(QUIET_MS);
    expect(collect).toHaveBeenCalledTimes(2);
  });

  it("waits while the event loop is busy, whether calls come and go or not", () => {
    const { memory, collect, loop } = watched();
    loop.busyShare = 0.5;
    begin(memory, MIN_CHANGES);
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
    loop.busyShare = 0.01;
    vi.advanceTimersByTime(QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
  });

  it("leaves a few calls alone, and adds them up", () => {
    const { memory, collect } = watched();
    begin(memory, MIN_CHANGES - 1);
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
    begin(memory, 1);
    vi.advanceTimersByTime(QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
  });

  it("collects after a single call that left much behind, once", () => {
    const { memory, collect, heap } = watched();
    heap.bytes = MIN_GROWTH_BYTES;
    begin(memory, 1);
    vi.advanceTimersByTime(QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
    // What is still in use is no reason for another collection.
    begin(memory, 1);
    vi.advanceTimersByTime(QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
  });

  it("counts the ends of calls too, and no probes", () => {
    const { memory, collect } = watched();
    begin(memory, MIN_CHANGES, PROBE);
    begin(memory, MIN_CHANGES - 1);
    vi.advanceTimersByTime(QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
    memory.end(CALL, outcomeOf());
    vi.advanceTimersByTime(QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
  });

  it("does nothing once it was stopped", () => {
    const { memory, collect } = watched();
    begin(memory, MIN_CHANGES);
    memory.stop();
    begin(memory, MIN_CHANGES);
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("makes the heap smaller", () => {
    const memory = createIdleMemory({ readBusyShare: () => 0 });
    let garbage: unknown[] | undefined = Array.from({ length: 300_000 }, (_, index) => ({ index }));
    begin(memory, MIN_CHANGES);
    const before = process.memoryUsage().heapUsed;
    expect(garbage).toHaveLength(300_000);
    garbage = undefined;
    vi.advanceTimersByTime(QUIET_MS);
    expect(process.memoryUsage().heapUsed).toBeLessThan(before);
  });
});
