import { describe, expect, it } from "vitest";
import { InvalidRequestError, RateLimitError } from "../../src/core/errors.ts";
import { userMessage } from "../../src/core/message.ts";
import { HistoryMemory } from "../../src/runs/history-memory.ts";

/** Heap of which the conversations may take 10,000 bytes. */
const HEAP_BYTES = 80_000;

function messagesOf(bytes: number) {
  return [userMessage("x".repeat(bytes))];
}

describe("the memory of conversations", () => {
  it("refuses a conversation that does not fit beside others, until these are over", () => {
    const memory = new HistoryMemory(HEAP_BYTES);
    const first = memory.begin();
    first.take(messagesOf(6000), "thread_id");
    expect(() => memory.begin().take(messagesOf(6000), "thread_id")).toThrow(RateLimitError);
    first.release();
    first.release();
    expect(() => memory.begin().take(messagesOf(6000), "thread_id")).not.toThrow();
  });

  it("refuses a conversation that never fits as a mistake of the request", () => {
    const share = new HistoryMemory(HEAP_BYTES).begin();
    expect(() => share.take(messagesOf(10_001), "previous_run_id")).toThrow(InvalidRequestError);
    expect(() => share.check(messagesOf(10_001), "previous_run_id")).toThrow(/previous_run_id/);
  });

  it("lets a run in the background wait until half of it is free", async () => {
    const memory = new HistoryMemory(HEAP_BYTES);
    const first = memory.begin();
    first.take(messagesOf(6000), "thread_id");
    let hasBegun = false;
    const waiting = memory.wait(new AbortController().signal).then((share) => {
      hasBegun = true;
      return share;
    });
    await Promise.resolve();
    expect(hasBegun).toBe(false);
    first.release();
    (await waiting).settle(messagesOf(9000));
    expect(() => memory.begin().take(messagesOf(2000), "thread_id")).toThrow(RateLimitError);
  });

  it("ends the wait of a run when its signal is aborted", async () => {
    const memory = new HistoryMemory(HEAP_BYTES);
    memory.begin().take(messagesOf(6000), "thread_id");
    const stop = new AbortController();
    const waiting = memory.wait(stop.signal);
    stop.abort();
    await expect(waiting).rejects.toThrow();
  });
});
