import { getEventListeners } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { AbortError, RequestTimeoutError } from "../../../src/core/errors.ts";
import { failureUnder, LinkedSignal, untilAborted } from "../../../src/kit/call/linked-signal.ts";

describe("LinkedSignal", () => {
  it("follows its parent, until it is released", () => {
    const parent = new AbortController();
    const [first, second] = [new LinkedSignal(parent.signal), new LinkedSignal(parent.signal)];
    second.release();
    expect(getEventListeners(parent.signal, "abort")).toHaveLength(1);
    const reason = new AbortError("enough");
    parent.abort(reason);
    expect(first.signal.reason).toBe(reason);
    expect(second.signal.aborted).toBe(false);
    expect(getEventListeners(parent.signal, "abort")).toEqual([]);
  });

  it("is aborted at once under a parent that is", () => {
    const reason = new AbortError("enough");
    const linked = new LinkedSignal(AbortSignal.abort(reason), { ms: 10, what: "the step" });
    expect(linked.signal.reason).toBe(reason);
  });

  it("is aborted after its limit, and not after its release", () => {
    vi.useFakeTimers();
    try {
      const [first, second, third] = [10, 10, 0].map(
        (ms) => new LinkedSignal(undefined, { ms, what: "the step" }),
      );
      second?.release();
      expect(vi.getTimerCount()).toBe(1);
      vi.advanceTimersByTime(9);
      expect(first?.signal.aborted).toBe(false);
      vi.advanceTimersByTime(1);
      expect(first?.signal.reason).toEqual(
        new RequestTimeoutError("the step exceeded its time limit of 10 ms"),
      );
      expect([second?.signal.aborted, third?.signal.aborted]).toEqual([false, false]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("the end of a LinkedSignal", () => {
  it.each(["release", "abort"] as const)("leaves no listener at the parent after %s()", (method) => {
    const parent = new AbortController();
    const linked = new LinkedSignal(parent.signal);
    const reason = new AbortError("lost");
    linked[method](reason);
    expect(getEventListeners(parent.signal, "abort")).toEqual([]);
    parent.abort("left");
    linked.abort("late");
    expect(linked.signal.aborted).toBe(method === "abort");
    expect(linked.signal.reason).toBe(method === "abort" ? reason : undefined);
  });
});

describe("untilAborted()", () => {
  it("has the outcome of the promise, and leaves no listener", async () => {
    const { signal } = new AbortController();
    await expect(untilAborted(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(untilAborted(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("rejects at once when the signal is aborted, or is already", async () => {
    const never = new Promise<never>(() => {});
    const controller = new AbortController();
    const waiting = untilAborted(never, controller.signal);
    controller.abort(new AbortError("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await expect(untilAborted(never, controller.signal)).rejects.toThrow("enough");
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });
});

describe("failureUnder()", () => {
  it("is the reason of the signal, unless the failure says the same with more detail", () => {
    const [cause, detailed] = [new Error("socket closed"), new AbortError("in detail")];
    const aborted = AbortSignal.abort(new AbortError("enough"));
    expect(failureUnder(new AbortController().signal, cause)).toBe(cause);
    expect(failureUnder(aborted, cause)).toEqual(new AbortError("enough"));
    expect(failureUnder(aborted, detailed)).toBe(detailed);
    expect(failureUnder(aborted, new RequestTimeoutError("late"))).toEqual(new AbortError("enough"));
  });
});
