import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  createIdleMemory,
  type IdleMemory,
  MIN_CHANGES,
  MIN_GROWTH_BYTES,
  QUIET_MS,
} from "../../../src/server/telemetry/idle-memory.ts";
import { createCall, toOutcome } from "../support/outcome.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const CALL = createCall();
const PROBE = createCall({ rpc: "grpc.health.v1.Health/Check" });

const MIB = 1024 * 1024;

/** An idle memory as it is after its start, with a scripted load of the event loop, resident memory and collections. */
function watched() {
  const watching = started();
  vi.advanceTimersByTime(QUIET_MS);
  watching.collect.mockClear();
  return watching;
}

function started() {
  const loop = { busyShare: 0 };
  // A collection leaves the memory that is in use.
  const bytes = { resident: 60 * MIB, inUse: 60 * MIB };
  const collect = vi.fn(() => {
    bytes.resident = bytes.inUse;
  });
  const memory = createIdleMemory({
    collect,
    readResidentBytes: () => bytes.resident,
    readBusyShare: () => loop.busyShare,
  });
  return { memory, collect, loop, bytes };
}

function begin(memory: IdleMemory, count: number, call = CALL): void {
  for (let index = 0; index < count; index++) memory.begin(call);
}

function end(memory: IdleMemory, count: number, call = CALL): void {
  for (let index = 0; index < count; index++) memory.end(call, toOutcome());
}

describe("createIdleMemory()", () => {
  it("collects once after the start, when the event loop is quiet", () => {
    const { collect, loop } = started();
    loop.busyShare = 0.5;
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
    loop.busyShare = 0;
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("does not collect after the start once it was stopped", () => {
    const { memory, collect } = started();
    memory.stop();
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
  });

  it("collects once when a load is over, and again after the next", () => {
    const { memory, collect, bytes } = watched();
    for (const collections of [1, 2]) {
      begin(memory, 3);
      bytes.resident += MIN_GROWTH_BYTES;
      end(memory, 3);
      vi.advanceTimersByTime(QUIET_MS - 1);
      expect(collect).toHaveBeenCalledTimes(collections - 1);
      vi.advanceTimersByTime(10 * QUIET_MS);
      expect(collect).toHaveBeenCalledTimes(collections);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  it("waits while the event loop is busy, whether calls come and go or not", () => {
    const { memory, collect, loop, bytes } = watched();
    loop.busyShare = 0.5;
    begin(memory, 1);
    bytes.resident += MIN_GROWTH_BYTES;
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
    loop.busyShare = 0.01;
    vi.advanceTimersByTime(QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
  });

  it("does not collect if the memory has hardly grown, however many calls there were", () => {
    const { memory, collect, bytes } = watched();
    begin(memory, 10 * MIN_CHANGES);
    bytes.resident += MIN_GROWTH_BYTES - 1;
    end(memory, 10 * MIN_CHANGES);
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
  });

  it("collects again when the calls that held memory at the last collection have ended", () => {
    const { memory, collect, bytes } = watched();
    begin(memory, 2);
    bytes.resident = bytes.inUse = 200 * MIB;
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
    end(memory, 1);
    // One call is still there.
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
    end(memory, 1);
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).toHaveBeenCalledTimes(2);
  });

  it("collects again after many calls if there is always one in progress", () => {
    const { memory, collect, bytes } = watched();
    begin(memory, MIN_CHANGES);
    bytes.resident = bytes.inUse = 200 * MIB;
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
    end(memory, MIN_CHANGES - 1);
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).toHaveBeenCalledOnce();
    begin(memory, 1);
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).toHaveBeenCalledTimes(2);
  });

  it("collects again if a call ended just before a collection and still held its memory", () => {
    const { memory, collect, bytes } = watched();
    begin(memory, 1);
    bytes.resident = bytes.inUse = 200 * MIB;
    vi.advanceTimersByTime(QUIET_MS - 1);
    end(memory, 1);
    vi.advanceTimersByTime(1);
    expect(collect).toHaveBeenCalledOnce();
    bytes.inUse = 70 * MIB;
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).toHaveBeenCalledTimes(2);
    expect(bytes.resident).toBe(70 * MIB);
  });

  it("does not watch probes", () => {
    const { memory } = watched();
    begin(memory, 1, PROBE);
    end(memory, 1, PROBE);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("does nothing once it was stopped", () => {
    const { memory, collect, bytes } = watched();
    bytes.resident += MIN_GROWTH_BYTES;
    begin(memory, 1);
    memory.stop();
    begin(memory, 1);
    vi.advanceTimersByTime(10 * QUIET_MS);
    expect(collect).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("returns the pages of garbage to the system", () => {
    const memory = createIdleMemory({ readBusyShare: () => 0 });
    let garbage: unknown[] | undefined = Array.from({ length: 2_000_000 }, (_, index) => ({ index }));
    begin(memory, 1);
    const before = process.memoryUsage.rss();
    expect(garbage).toHaveLength(2_000_000);
    garbage = undefined;
    vi.advanceTimersByTime(QUIET_MS);
    expect(before - process.memoryUsage.rss()).toBeGreaterThan(32 * MIB);
  });
});
