import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AbortError, StreamError } from "../../../src/core/errors.ts";
import type { HttpAnswer } from "../../../src/kit/http/transport.ts";
import { currentCall, McpCall } from "../../../src/runs/mcp/current-call.ts";

const limit = { ms: 60_000, what: "the call" };

/** An answer that notes whether it was released. */
function createAnswer(status = 200) {
  const answer = {
    status,
    isReleased: false,
    release: () => {
      answer.isReleased = true;
    },
  };
  return answer as typeof answer & HttpAnswer;
}

const never = () => new Promise<never>(() => {});

describe("a call of an MCP server", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  it("is the current one while it works, and gives its value", async () => {
    const call = new McpCall(undefined, limit);
    expect(await call.run(async (given) => given === call && currentCall.getStore() === call)).toBe(true);
    expect(currentCall.getStore()).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("fails when its time is over, and its exchanges are ended", async () => {
    const call = new McpCall(undefined, limit);
    const failed = expect(call.run(never)).rejects.toMatchObject({
      name: "RequestTimeoutError",
      message: "the call exceeded its time limit of 60000 ms",
    });
    await vi.advanceTimersByTimeAsync(60_000);
    await failed;
    expect(call.signal.aborted).toBe(true);
  });

  it("fails with the reason with which it is stopped", async () => {
    const call = new McpCall(undefined, limit);
    const failed = expect(call.run(never)).rejects.toThrow("the run has ended");
    call.stop(new AbortError("the run has ended"));
    await failed;
  });

  it("follows the signal of its caller until it ends", async () => {
    const caller = new AbortController();
    const call = new McpCall(caller.signal, limit);
    expect(getEventListeners(caller.signal, "abort")).toHaveLength(1);
    await call.run(async () => "done");
    expect(getEventListeners(caller.signal, "abort")).toEqual([]);
    expect(call.signal.aborted).toBe(false);
  });

  it("ends what the client package may still wait for, if it fails", async () => {
    const call = new McpCall(undefined, limit);
    await expect(call.run(() => Promise.reject(new StreamError("broken")))).rejects.toThrow("broken");
    expect(call.signal.reason).toMatchObject({ message: "the call has failed" });
  });

  it.each([
    [200, "the response is not from an MCP server"],
    [299, "the response is not from an MCP server"],
    [199, "the server rejected the request (status 199)"],
    [300, "the server rejected the request (status 300)"],
    [502, "the server failed (status 502)"],
  ])("fails as the status of its latest answer says: %i", async (status, message) => {
    const call = new McpCall(undefined, limit);
    const run = call.run(async () => {
      call.onAnswer(createAnswer(status === 404 ? 200 : 404));
      call.onAnswer(createAnswer(status));
      throw new Error("unreadable");
    });
    await expect(run).rejects.toThrow(message);
  });

  it("releases its answers at its end, and those that come later at once", async () => {
    const call = new McpCall(undefined, limit);
    const [early, late] = [createAnswer(), createAnswer()];
    await call.run(async () => {
      call.onAnswer(early);
      expect(early.isReleased).toBe(false);
    });
    expect(early.isReleased).toBe(true);
    call.onAnswer(late);
    expect(late.isReleased).toBe(true);
  });

  it("takes at most 256 HTTP exchanges", () => {
    const call = new McpCall(undefined, limit);
    for (let count = 0; count < 256; count += 1) call.onExchange();
    expect(() => call.onExchange()).toThrow(
      expect.objectContaining({
        retryable: false,
        message: "the call took more than 256 HTTP exchanges",
      }),
    );
  });
});

describe("an answer that ends without a result", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  async function isSettled(promise: Promise<unknown>): Promise<boolean> {
    const settled = promise.then(
      () => true,
      () => true,
    );
    return Promise.race([settled, Promise.resolve().then(async () => false)]);
  }

  it("fails the call a second later", async () => {
    const call = new McpCall(undefined, limit);
    const run = call.run(never);
    run.catch(() => {});
    call.onAnswerEnd(new StreamError("it ended"));
    await vi.advanceTimersByTimeAsync(999);
    expect(await isSettled(run)).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await expect(run).rejects.toThrow("it ended");
  });

  it("fails nothing if another exchange follows, or the answer can be taken up again", async () => {
    const call = new McpCall(undefined, limit);
    const run = call.run(never);
    run.catch(() => {});
    call.onAnswerEnd(new StreamError("it ended"));
    call.onExchange();
    await vi.advanceTimersByTimeAsync(5000);
    expect(await isSettled(run)).toBe(false);
    call.isResumable = true;
    call.onAnswerEnd(new StreamError("it ended"));
    await vi.advanceTimersByTimeAsync(5000);
    expect(await isSettled(run)).toBe(false);
  });

  it("counts once, from the end of the latest one", async () => {
    const call = new McpCall(undefined, limit);
    const run = call.run(never);
    run.catch(() => {});
    call.onAnswerEnd(new StreamError("the first"));
    await vi.advanceTimersByTimeAsync(600);
    call.onAnswerEnd(new StreamError("the second"));
    await vi.advanceTimersByTimeAsync(600);
    expect(await isSettled(run)).toBe(false);
    await vi.advanceTimersByTimeAsync(400);
    await expect(run).rejects.toThrow("the second");
  });

  it("leaves no timer before or after the result of the call", async () => {
    const call = new McpCall(undefined, limit);
    await call.run(async () => call.onAnswerEnd(new StreamError("it ended")));
    expect(vi.getTimerCount()).toBe(0);
    call.onAnswerEnd(new StreamError("it ended"));
    expect(vi.getTimerCount()).toBe(0);
  });
});
