import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import {
  AbortError,
  AuthenticationError,
  ConfigurationError,
  NetworkError,
  RateLimitError,
  RequestTimeoutError,
  type SDKError,
  ServerError,
} from "../../src/core/errors.ts";
import { type RetryOptions, type RetryPolicy, retry, waitFor } from "../../src/middleware/retry-policy.ts";

/** An attempt that fails with these errors in turn and then succeeds. */
function failing(...errors: unknown[]) {
  const left = [...errors];
  return vi.fn(async () => {
    if (left.length > 0) throw left.shift();
    return "done";
  });
}

/** Options that record the waits instead of waiting. */
function noting(random = 0.5): { waits: number[]; options: RetryOptions } {
  const waits: number[] = [];
  return {
    waits,
    options: { random: () => random, wait: async (milliseconds) => void waits.push(milliseconds) },
  };
}

const broken = () => new ServerError("broken");

describe("retry()", () => {
  it("gives the result of the first success", async () => {
    const { waits, options } = noting();
    const attempt = failing(broken(), new NetworkError("lost"));
    expect(await retry(attempt, {}, options)).toBe("done");
    expect(attempt).toHaveBeenCalledTimes(3);
    expect(waits).toEqual([1000, 2000]);
  });

  it("throws the last failure after two retries, or as many as the policy says", async () => {
    const { options } = noting();
    const errors = [broken(), broken(), broken(), broken()];
    const attempt = failing(...errors);
    await expect(retry(attempt, {}, options)).rejects.toBe(errors[2]);
    expect(attempt).toHaveBeenCalledTimes(3);
    const never = failing(...errors);
    await expect(retry(never, { maxRetries: 0 }, options)).rejects.toBe(errors[0]);
    expect(never).toHaveBeenCalledTimes(1);
  });

  it.each([
    ["without jitter", { jitter: false }, 0.9, [1, 2, 4, 8, 16]],
    ["with the least jitter", {}, 0, [0.5, 1, 2, 4, 8]],
    ["with nearly the most jitter", {}, 0.999, [1.499, 2.998, 5.996, 11.992, 23.984]],
    ["up to the longest delay", { jitter: false, maxDelay: 5 }, 0, [1, 2, 4, 5, 5]],
    [
      "by another base and factor",
      { jitter: false, baseDelay: 0.1, backoffMultiplier: 3 },
      0,
      [0.1, 0.3, 0.9, 2.7, 8.1],
    ],
  ] as const)("waits longer each time %s", async (_name, policy, random, want) => {
    const { waits, options } = noting(random);
    await retry(failing(...want.map(broken)), { ...policy, maxRetries: 5 }, options);
    expect(waits.map((wait) => Math.round(wait * 1000) / 1e6)).toEqual(want);
  });

  it("waits as long as the provider asks, without jitter", async () => {
    const { waits, options } = noting(0.9);
    const limited = (retryAfter: number) => new RateLimitError("slow down", { retryAfter });
    await retry(failing(limited(7.5), limited(60)), {}, options);
    expect(waits).toEqual([7500, 60_000]);
  });

  it("fails immediately if the provider asks for more than the longest delay", async () => {
    const { waits, options } = noting();
    const error = new RateLimitError("come back tomorrow", { retryAfter: 60.001 });
    const attempt = failing(error);
    await expect(retry(attempt, {}, options)).rejects.toMatchObject({ retryAfter: 60.001 });
    expect([attempt.mock.calls.length, waits]).toEqual([1, []]);
  });

  it.each([
    ["is not retryable", new AuthenticationError("no")],
    ["says itself that it is not retryable", new ServerError("no", { retryable: false })],
    ["is no error of ours", new TypeError("bug")],
    ["came after the model had begun to write", new NetworkError("lost", { outputStarted: true })],
    ["is a time-out", new RequestTimeoutError("slow")],
    ["is an abort", new AbortError("left")],
  ])("does not retry what %s", async (_name, error) => {
    const attempt = failing(error);
    await expect(retry(attempt, {}, noting().options)).rejects.toBe(error);
    expect(attempt).toHaveBeenCalledTimes(1);
  });

  it("throws the failure of an attempt during which the caller left, without a wait", async () => {
    const controller = new AbortController();
    const { waits, options } = noting();
    const attempt = async () => {
      controller.abort();
      throw new ServerError("down");
    };
    await expect(retry(attempt, {}, { ...options, signal: controller.signal })).rejects.toThrow("down");
    expect(waits).toEqual([]);
  });

  it("retries a time-out if the policy says so", async () => {
    const attempt = failing(new RequestTimeoutError("slow"));
    expect(await retry(attempt, { retryTimeouts: true }, noting().options)).toBe("done");
  });

  it("retries a time-out of the provider, but not one of the call", async () => {
    const attempt = failing(
      new RequestTimeoutError("answered 504", { provider: "openai", httpStatusCode: 504 }),
    );
    expect(await retry(attempt, {}, noting().options)).toBe("done");
    const slowCall = failing(new RequestTimeoutError("slow"));
    await expect(retry(slowCall, {}, noting().options)).rejects.toThrow("slow");
  });

  it("reports each retry before it waits", async () => {
    const told: unknown[] = [];
    const { waits, options } = noting();
    const onRetry = (error: SDKError, attempt: number, delay: number) =>
      void told.push([error.message, attempt, delay, waits.length]);
    await retry(failing(new ServerError("a"), new ServerError("b")), { onRetry }, options);
    expect(told).toEqual([
      ["a", 0, 1, 0],
      ["b", 1, 2, 1],
    ]);
  });

  it("does not begin, and stops waiting, if the signal is aborted", async () => {
    const attempt = failing(broken());
    const deadline = new RequestTimeoutError("deadline");
    await expect(retry(attempt, {}, { signal: AbortSignal.abort(deadline) })).rejects.toBe(deadline);
    expect(attempt).not.toHaveBeenCalled();
    const controller = new AbortController();
    // Longer than the test may take.
    const waiting = retry(attempt, { baseDelay: 60, maxDelay: 60 }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 10);
    await expect(waiting).rejects.toBeInstanceOf(AbortError);
    expect(attempt).toHaveBeenCalledTimes(1);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  it("begins no wait that would last until the deadline, and reports none", async () => {
    const { waits, options } = noting();
    const onRetry = vi.fn();
    const deadline = performance.now() + 60_000;
    const error = new RateLimitError("slow down", { retryAfter: 60 });
    await expect(retry(failing(error), { onRetry }, { ...options, deadline })).rejects.toBe(error);
    expect(onRetry).not.toHaveBeenCalled();
    await retry(failing(new RateLimitError("slow down", { retryAfter: 5 })), {}, { ...options, deadline });
    expect(waits).toEqual([5000]);
  });

  it("waits with a real timer", async () => {
    const since = performance.now();
    await retry(failing(broken()), { baseDelay: 0.05, jitter: false });
    expect(performance.now() - since).toBeGreaterThan(45);
  });

  it("refuses a policy with more than ten retries, or a part of one", async () => {
    for (const maxRetries of [-1, 11, 1.5, Infinity, Number.NaN])
      await expect(retry(failing(), { maxRetries })).rejects.toThrow(
        `the retry policy's maxRetries is ${maxRetries}; expected a whole number from 0 to 10`,
      );
  });

  it.each(["baseDelay", "maxDelay", "backoffMultiplier"] satisfies (keyof RetryPolicy)[])(
    "refuses a policy whose %s is negative or no number",
    async (name) => {
      for (const value of [-1, Number.NaN]) {
        const failed = retry(failing(), { [name]: value });
        await expect(failed).rejects.toThrow(`the retry policy's ${name} is ${value}; expected 0 or more`);
        await expect(failed).rejects.toBeInstanceOf(ConfigurationError);
      }
    },
  );
});

it("A delay beyond the range of timers does not end at once, and ends with its signal", async () => {
  const controller = new AbortController();
  const outcome = waitFor(2 ** 31, controller.signal).then(
    () => "over",
    () => "left",
  );
  await sleep(10);
  controller.abort();
  expect(await outcome).toBe("left");
});
