import { describe, expect, it } from "vitest";
import { InvalidRequestError, RateLimitError } from "../../src/core/errors.ts";
import { MemoryAccount } from "../../src/core/memory-account.ts";
import { userMessage } from "../../src/core/message.ts";
import { HistoryMemory } from "../../src/runs/history-memory.ts";

const LIMITS = { maxHistoryMemoryBytes: 10_000 };

function openMemory() {
  return new HistoryMemory(new MemoryAccount({ limits: LIMITS }));
}

function toMessages(bytes: number) {
  return [userMessage("x".repeat(bytes))];
}

const never = new AbortController().signal;

describe("the memory of conversations", () => {
  it("refuses a conversation that does not fit beside others, until these are over", () => {
    const memory = openMemory();
    const first = memory.begin("");
    first.take(toMessages(6000), "thread_id");
    const refused = () => memory.begin("").take(toMessages(6000), "thread_id");
    expect(refused).toThrow(RateLimitError);
    expect(refused).toThrow(/limits\.max_history_memory/);
    first.release();
    first.release();
    expect(() => memory.begin("").take(toMessages(6000), "thread_id")).not.toThrow();
  });

  it("counts a conversation once if its run is created again after a wait", () => {
    const share = openMemory().begin("");
    share.take(toMessages(6000), "thread_id");
    expect(() => share.take(toMessages(6100), "thread_id")).not.toThrow();
  });

  it("refuses a conversation that never fits as a mistake of the request", () => {
    const share = openMemory().begin("");
    expect(() => share.take(toMessages(10_001), "previous_run_id")).toThrow(InvalidRequestError);
    expect(() => share.check(toMessages(10_001), "previous_run_id")).toThrow(/previous_run_id/);
  });

  it("refuses no foreground run while runs in the background are being started", async () => {
    const memory = openMemory();
    await memory.wait(never);
    void memory.wait(never);
    expect(() => memory.begin("").take(toMessages(9000), "thread_id")).not.toThrow();
  });

  it("lets runs in the background read their conversations one after the other", async () => {
    const memory = openMemory();
    const first = await memory.wait(never);
    let hasBegun = false;
    const waiting = memory.wait(never).then((share) => {
      hasBegun = true;
      return share;
    });
    await Promise.resolve();
    expect(hasBegun).toBe(false);
    first.settle(toMessages(100));
    (await waiting).release();
    await expect(memory.wait(never)).resolves.toBeDefined();
  });

  it("lets a run in the background wait until half of the memory is free", async () => {
    const memory = openMemory();
    const first = memory.begin("");
    first.take(toMessages(6000), "thread_id");
    let hasBegun = false;
    const waiting = memory.wait(never).then((share) => {
      hasBegun = true;
      return share;
    });
    await Promise.resolve();
    expect(hasBegun).toBe(false);
    first.release();
    (await waiting).settle(toMessages(9000));
    expect(() => memory.begin("").take(toMessages(2000), "thread_id")).toThrow(RateLimitError);
  });

  it("ends the wait of a run when its signal is aborted", async () => {
    const memory = openMemory();
    memory.begin("").take(toMessages(6000), "thread_id");
    const stop = new AbortController();
    const waiting = memory.wait(stop.signal);
    stop.abort();
    await expect(waiting).rejects.toThrow();
  });
});
