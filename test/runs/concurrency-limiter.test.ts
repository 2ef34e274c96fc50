import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { MemoryAccount } from "../../src/core/memory-account.ts";
import { RunLimitError } from "../../src/runs/errors.ts";
import { ConcurrencyLimiter } from "../../src/runs/limits.ts";

const never = new AbortController().signal;

function createLimiter(max: number, isShared: boolean): ConcurrencyLimiter {
  const account = new MemoryAccount({ isShared: () => isShared });
  return new ConcurrencyLimiter("max_foreground_runs", max, "foreground runs", account);
}

describe("the limit on one kind of work", () => {
  it("lets one owner take three quarters of the places if there are several owners", () => {
    const limiter = createLimiter(8, true);
    for (let count = 0; count < 6; count++) limiter.acquire("greedy");
    expect(() => limiter.acquire("greedy")).toThrow(/max_foreground_runs of 6 .* of one access key/);
    limiter.acquire("modest");
    limiter.acquire("other");
    expect(() => limiter.acquire("third")).toThrow(RunLimitError);
    limiter.release("greedy");
    limiter.acquire("greedy");
  });

  it("lets the only owner take all places", () => {
    const limiter = createLimiter(2, false);
    limiter.acquire("alone");
    limiter.acquire("alone");
    expect(() => limiter.acquire("alone")).toThrow(RunLimitError);
  });

  it("has a place for each owner even if there is only one place", () => {
    const limiter = createLimiter(1, true);
    limiter.acquire("first");
    limiter.release("first");
    expect(() => limiter.acquire("second")).not.toThrow();
  });

  it("refuses a waiter whose owner has used its share meanwhile", async () => {
    const limiter = createLimiter(4, true);
    for (let count = 0; count < 3; count++) {
      await limiter.acquireWhenFree(never);
      expect(limiter.assign("greedy")).toBe(true);
    }
    await limiter.acquireWhenFree(never);
    expect(limiter.assign("greedy")).toBe(false);
    expect(limiter.assign("modest")).toBe(true);
    limiter.release("greedy");
    await limiter.acquireWhenFree(never);
    expect(limiter.assign("greedy")).toBe(true);
  });

  it("gives a released place to the first waiter", async () => {
    const limiter = createLimiter(1, false);
    limiter.acquire("");
    const entered: string[] = [];
    const first = limiter.acquireWhenFree(never).then(() => entered.push("first"));
    const second = limiter.acquireWhenFree(never).then(() => entered.push("second"));
    limiter.release("");
    await first;
    expect([entered, limiter.free]).toEqual([["first"], 0]);
    expect(() => limiter.acquire("")).toThrow(
      "the limit runs.limits.max_foreground_runs of 1 foreground runs",
    );
    limiter.release("");
    await second;
    limiter.release("");
    expect(limiter.free).toBe(1);
    await limiter.acquireWhenFree(never);
    expect(limiter.free).toBe(0);
  });

  it("gives no place to a waiter whose signal was aborted, and leaves no listener", async () => {
    const limiter = createLimiter(1, false);
    const stop = new AbortController();
    await limiter.acquireWhenFree(stop.signal);
    const waiting = limiter.acquireWhenFree(stop.signal);
    const other = limiter.acquireWhenFree(never);
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ kindName: "ABORT" });
    await expect(limiter.acquireWhenFree(stop.signal)).rejects.toMatchObject({ kindName: "ABORT" });
    limiter.release("");
    await other;
    limiter.release("");
    expect(limiter.free).toBe(1);
    const passing = new AbortController();
    limiter.acquire("");
    const passed = limiter.acquireWhenFree(passing.signal);
    limiter.release("");
    await passed;
    expect(getEventListeners(passing.signal, "abort")).toEqual([]);
  });

  it("lists the owners that have used their share, until they release a place", () => {
    const limiter = createLimiter(4, true);
    for (const owner of ["a", "a", "b", "a"]) limiter.acquire(owner);
    expect(limiter.fullOwners).toEqual(["a"]);
    limiter.release("a");
    expect(limiter.fullOwners).toEqual([]);
    limiter.release("a");
    limiter.release("a");
    limiter.release("b");
    expect(limiter.free).toBe(4);
    for (let count = 0; count < 3; count += 1) limiter.acquire("a");
    expect(() => limiter.acquire("a")).toThrow("max_foreground_runs of 3 foreground runs of one access key");
    limiter.acquire("b");
    limiter.release("");
    expect(limiter.free).toBe(1);
  });
});
