import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ArrivalWatch } from "../../../src/server/requests/arrival-watch.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const LIMITS = { requestTimeoutMs: 60_000, stallTimeoutMs: 10_000 };

function createArrival() {
  return { fail: vi.fn<(reason: unknown) => void>() };
}

function getProblem({ fail }: ReturnType<typeof createArrival>): string {
  return ConnectError.from(fail.mock.calls[0]?.[0]).rawMessage;
}

describe("ArrivalWatch", () => {
  it("ends a request that stops in the middle, and names the limit", () => {
    const watch = new ArrivalWatch(LIMITS);
    const arrival = createArrival();
    watch.begin(arrival);
    vi.advanceTimersByTime(10_000);
    expect(arrival.fail).not.toHaveBeenCalled();
    vi.advanceTimersByTime(2000);
    expect(arrival.fail).toHaveBeenCalledOnce();
    const error = ConnectError.from(arrival.fail.mock.calls[0]?.[0]);
    expect(error.code).toBe(Code.DeadlineExceeded);
    expect(error.rawMessage).toContain("limits.stall_timeout");
  });

  it("notices a short limit soon after it", () => {
    const watch = new ArrivalWatch({ requestTimeoutMs: 400, stallTimeoutMs: 200 });
    const arrival = createArrival();
    watch.begin(arrival);
    vi.advanceTimersByTime(250);
    expect(getProblem(arrival)).toContain("waited 250 ms (limits.stall_timeout)");
    watch.stop();
  });

  it("ends a request that comes byte by byte", () => {
    const watch = new ArrivalWatch(LIMITS);
    const arrival = createArrival();
    watch.begin(arrival);
    for (let second = 0; second < 60; second++) {
      expect(arrival.fail).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1000);
      watch.touch(arrival);
    }
    vi.advanceTimersByTime(2000);
    expect(getProblem(arrival)).toContain("limits.request_timeout");
  });

  it("leaves a request alone that has arrived, and its timer ends", () => {
    const watch = new ArrivalWatch(LIMITS);
    const arrival = createArrival();
    watch.begin(arrival);
    vi.advanceTimersByTime(9000);
    watch.end(arrival);
    vi.advanceTimersByTime(60_000);
    expect(arrival.fail).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends stalled requests early when memory is short, and not those that continue", () => {
    const watch = new ArrivalWatch(LIMITS);
    const [stalled, moving] = [createArrival(), createArrival()];
    watch.begin(stalled);
    watch.begin(moving);
    vi.advanceTimersByTime(2000);
    watch.touch(moving);
    watch.endStalled();
    expect(stalled.fail).toHaveBeenCalledOnce();
    expect(getProblem(stalled)).toContain("limits.stall_timeout");
    expect(moving.fail).not.toHaveBeenCalled();
    watch.stop();
  });

  it("ends the request that has taken the longest if calls run short", () => {
    const watch = new ArrivalWatch(LIMITS);
    const [first, second] = [createArrival(), createArrival()];
    expect(watch.endOldest()).toBe(false);
    watch.begin(first);
    watch.begin(second);
    expect(watch.endOldest()).toBe(true);
    expect(first.fail).toHaveBeenCalledOnce();
    expect(getProblem(first)).toContain("limits.max_calls");
    expect(second.fail).not.toHaveBeenCalled();
    watch.stop();
  });
});
