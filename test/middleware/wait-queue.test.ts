import { getEventListeners } from "node:events";
import { AbortError } from "outrigger";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TokenBucket } from "../../src/middleware/token-bucket.ts";
import { WaitQueue } from "../../src/middleware/wait-queue.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const now = () => performance.now();

/** A queue for one bucket of 60 a minute, which is one a second. */
function createQueue(limits: { maxQueue?: number; maxWaitMs?: number } = {}) {
  const bucket = new TokenBucket(60, now);
  return { bucket, queue: new WaitQueue([bucket], { maxQueue: 10, maxWaitMs: 10_000, ...limits }, now) };
}

describe("TokenBucket", () => {
  it("allows a minute's worth at once, and refills steadily", () => {
    const bucket = new TokenBucket(60, now);
    expect(bucket.msUntil(60)).toBe(0);
    bucket.take(60);
    expect(bucket.msUntil(2)).toBe(2000);
    vi.advanceTimersByTime(1500);
    expect(bucket.msUntil(2)).toBe(500);
    vi.advanceTimersByTime(600_000);
    expect([bucket.msUntil(60), bucket.msUntil(61)]).toEqual([0, 1000]);
  });

  it("accepts refunds of unused tokens, and goes below zero for excess tokens", () => {
    const bucket = new TokenBucket(60, now);
    bucket.take(60);
    bucket.refund(10);
    expect(bucket.msUntil(10)).toBe(0);
    bucket.refund(-20);
    expect(bucket.msUntil(1)).toBe(11_000);
    bucket.refund(1000);
    expect(bucket.msUntil(61)).toBe(1000);
  });
});

describe("WaitQueue", () => {
  it("lets calls continue in their order, each when there is enough for it", async () => {
    const { queue } = createQueue();
    const order: string[] = [];
    await queue.take([60], Infinity, undefined);
    const calls = [3, 1, 2].map((amount) =>
      queue.take([amount], Infinity, undefined).then(() => void order.push(`${amount} at ${now() / 1000}`)),
    );
    const startedAt = now() / 1000;
    await vi.advanceTimersByTimeAsync(6001);
    await Promise.all(calls);
    expect(order).toEqual([`3 at ${startedAt + 3}`, `1 at ${startedAt + 4}`, `2 at ${startedAt + 6}`]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("lets no call overtake the first one, and lets all that fit continue at once", async () => {
    const { queue } = createQueue();
    const order: number[] = [];
    await queue.take([60], Infinity, undefined);
    for (const amount of [2, 1, 3])
      void queue.take([amount], Infinity, undefined).then(() => order.push(amount));
    queue.refund([1]);
    await flushMicrotasks();
    expect(order).toEqual([]);
    queue.refund([5]);
    await flushMicrotasks();
    expect([order, vi.getTimerCount()]).toEqual([[2, 1, 3], 0]);
  });

  it("refuses a call at once that would wait too long behind the others, or for its caller", async () => {
    const { queue } = createQueue({ maxWaitMs: 5000 });
    await queue.take([60], Infinity, undefined);
    const first = queue.take([3], Infinity, undefined);
    expect(await queue.take([3], Infinity, undefined)).toEqual({ bucket: 0, waitMs: 6000 });
    expect(await queue.take([1], 3000, undefined)).toEqual({ bucket: 0, waitMs: 4000 });
    // A call whose turn comes when its time is over has no time left.
    expect(await queue.take([1], 4000, undefined)).toEqual({ bucket: 0, waitMs: 4000 });
    await vi.advanceTimersByTimeAsync(3000);
    expect(await first).toBe(queue.refund);
  });

  it("refuses a call if too many wait", async () => {
    const { queue } = createQueue({ maxQueue: 1 });
    await queue.take([60], Infinity, undefined);
    const first = queue.take([1], Infinity, undefined);
    expect(await queue.take([1], Infinity, undefined)).toMatchObject({ waitMs: 2000 });
    await vi.advanceTimersByTimeAsync(1000);
    expect(await first).toBe(queue.refund);
  });

  it("names the bucket that takes longest", async () => {
    const buckets = [new TokenBucket(60, now), new TokenBucket(600, now)];
    const queue = new WaitQueue(buckets, { maxQueue: 10, maxWaitMs: 0 }, now);
    await queue.take([1, 600], Infinity, undefined);
    expect(await queue.take([1, 100], Infinity, undefined)).toEqual({ bucket: 1, waitMs: 10_000 });
  });

  it("lets a call continue as soon as another one gives enough back", async () => {
    const { queue } = createQueue();
    await queue.take([60], Infinity, undefined);
    const waiting = queue.take([5], Infinity, undefined);
    queue.refund([10]);
    expect(await waiting).toBe(queue.refund);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("rejects a call that has waited for as long as it may, if others used more than they reserved", async () => {
    vi.advanceTimersByTime(1000);
    const { bucket, queue } = createQueue({ maxWaitMs: 5000 });
    await queue.take([60], Infinity, undefined);
    const waiting = queue.take([5], Infinity, undefined);
    queue.refund([-100]);
    await vi.advanceTimersByTimeAsync(5000);
    expect(await waiting).toEqual({ bucket: 0, waitMs: 100_000 });
    // It has taken nothing.
    expect(bucket.msUntil(1)).toBe(96_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("drops a call whose caller disconnects, and the next one takes its place", async () => {
    const { queue } = createQueue();
    const { signal, abort } = abortable();
    await queue.take([60], Infinity, undefined);
    const leaving = queue.take([5], Infinity, signal);
    const next = queue.take([1], Infinity, undefined);
    abort();
    await expect(leaving).rejects.toBeInstanceOf(AbortError);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await next).toBe(queue.refund);
    await expect(queue.take([100], Infinity, AbortSignal.abort())).resolves.toBeDefined();
  });

  it("does not let a call wait whose caller has left already", async () => {
    const { queue } = createQueue();
    await queue.take([60], Infinity, undefined);
    await expect(queue.take([5], Infinity, AbortSignal.abort())).rejects.toBeInstanceOf(AbortError);
    const next = queue.take([1], Infinity, undefined);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await next).toBe(queue.refund);
  });

  it("leaves no listener on the signal of a call that continued", async () => {
    const { queue } = createQueue();
    const { signal } = abortable();
    await queue.take([60], Infinity, signal);
    const waiting = queue.take([1], Infinity, signal);
    await vi.advanceTimersByTimeAsync(1000);
    await waiting;
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

async function flushMicrotasks(): Promise<void> {
  for (let left = 10; left > 0; left -= 1) await Promise.resolve();
}

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
