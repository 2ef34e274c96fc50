import { create } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import { InvalidRequestError, RateLimitError } from "../../src/core/errors.ts";
import { MemoryAccount } from "../../src/core/memory-account.ts";
import { measureMemory } from "../../src/core/memory-pool.ts";
import { userMessage } from "../../src/core/message.ts";
import { CreateRunRequestSchema } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { HistoryMemory, HistoryShare } from "../../src/runs/limits.ts";

const LIMITS = { maxHistoryMemoryBytes: 10_000 };

function openMemory(limits = LIMITS) {
  return new HistoryMemory(new MemoryAccount({ limits }));
}

function toMessages(bytes: number) {
  return [userMessage("x".repeat(bytes))];
}

const never = new AbortController().signal;

describe("the memory of conversations", () => {
  it("refuses a conversation that does not fit alongside others, until these are over", () => {
    const memory = openMemory();
    const first = new HistoryShare(memory, "");
    first.take(toMessages(6000), "thread_id");
    const refused = () => new HistoryShare(memory, "").take(toMessages(6000), "thread_id");
    expect(refused).toThrow(RateLimitError);
    expect(refused).toThrow(/limits\.max_history_memory/);
    first.release();
    first.release();
    expect(() => new HistoryShare(memory, "").take(toMessages(6000), "thread_id")).not.toThrow();
  });

  it("counts a conversation once if its run is created again after a wait", () => {
    const share = new HistoryShare(openMemory(), "");
    share.take(toMessages(6000), "thread_id");
    expect(() => share.take(toMessages(6100), "thread_id")).not.toThrow();
  });

  it("refuses a conversation that never fits as a mistake of the request", () => {
    const share = new HistoryShare(openMemory(), "");
    expect(() => share.take(toMessages(10_001), "previous_run_id")).toThrow(InvalidRequestError);
    expect(() => share.check(toMessages(10_001), "previous_run_id")).toThrow(/previous_run_id/);
  });

  it("reserves the stored size before the read, and then the exact size", () => {
    const memory = openMemory();
    const share = new HistoryShare(memory, "");
    share.reserve({ messages: 9000, run: 0 });
    expect(() => new HistoryShare(memory, "").reserve({ messages: 2000, run: 0 })).toThrow(RateLimitError);
    share.take(toMessages(2000), "thread_id");
    expect(() => new HistoryShare(memory, "").reserve({ messages: 2000, run: 0 })).not.toThrow();
  });

  it("refuses a stored conversation that never fits, also if its texts take half of their space", () => {
    const share = new HistoryShare(openMemory(), "");
    expect(() => share.reserve({ messages: 20_002, run: 0 })).toThrow(InvalidRequestError);
    expect(() => share.reserve({ messages: 20_001, run: 0 })).not.toThrow();
  });

  it("keeps memory for what a run has from the previous one, alongside its conversation", () => {
    const memory = openMemory({ maxHistoryMemoryBytes: 200_000 });
    const request = create(CreateRunRequestSchema, { metadata: { text: "x".repeat(150_000) } });
    const share = new HistoryShare(memory, "");
    share.reserve({ messages: 1000, run: 90_000 });
    expect(() => new HistoryShare(memory, "").take(toMessages(180_000), "thread_id")).toThrow(RateLimitError);
    share.keepPrevious({ request });
    share.take(toMessages(1000), "thread_id");
    expect(() => new HistoryShare(memory, "").take(toMessages(120_000), "thread_id")).toThrow(RateLimitError);
    share.keepPrevious(undefined);
    expect(() => new HistoryShare(memory, "").take(toMessages(190_000), "thread_id")).not.toThrow();
    expect(() => share.keepPrevious({ request })).toThrow(RateLimitError);
    share.release();
  });

  it("refuses no foreground run while runs in the background are being started", async () => {
    const memory = openMemory();
    await memory.wait(never);
    void memory.wait(never);
    expect(() => new HistoryShare(memory, "").take(toMessages(9000), "thread_id")).not.toThrow();
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
    const first = new HistoryShare(memory, "");
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
    expect(() => new HistoryShare(memory, "").take(toMessages(2000), "thread_id")).toThrow(RateLimitError);
  });

  it("has room for a conversation of exactly its size, and for one of half of it alongside a background run", async () => {
    const messages = toMessages(5000);
    const bytes = measureMemory(messages);
    const exact = new HistoryShare(openMemory({ maxHistoryMemoryBytes: bytes }), "");
    expect(() => exact.take(messages, "thread_id")).not.toThrow();
    const small = new HistoryShare(openMemory({ maxHistoryMemoryBytes: bytes - 1 }), "");
    expect(() => small.check(messages, "thread_id")).toThrow(InvalidRequestError);
    const isFree = async (maxHistoryMemoryBytes: number) => {
      const memory = openMemory({ maxHistoryMemoryBytes });
      new HistoryShare(memory, "").take(messages, "thread_id");
      let hasBegun = false;
      void memory.wait(never).then(() => {
        hasBegun = true;
      });
      await new Promise((resolve) => setImmediate(resolve));
      return hasBegun;
    };
    expect([await isFree(2 * bytes), await isFree(2 * bytes - 1)]).toEqual([true, false]);
  });

  it("is released completely, also if a conversation shrinks", () => {
    const memory = openMemory();
    const share = new HistoryShare(memory, "");
    for (const size of [4000, 9000, 100, 5000]) share.take(toMessages(size), "thread_id");
    share.settle(toMessages(2000));
    const other = new HistoryShare(memory, "");
    expect(() => other.take(toMessages(7000), "thread_id")).not.toThrow();
    share.release();
    other.release();
    expect(() => new HistoryShare(memory, "").take(toMessages(9500), "thread_id")).not.toThrow();
  });

  it("lets one run read at a time, whatever others give back meanwhile", async () => {
    const memory = openMemory();
    const first = await memory.wait(never);
    first.settle(toMessages(100));
    const second = await memory.wait(never);
    let hasBegun = false;
    void memory.wait(never).then(() => {
      hasBegun = true;
    });
    first.release();
    first.release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(hasBegun).toBe(false);
    second.release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(hasBegun).toBe(true);
  });

  it("has one share for the answers of a run, which ends with it", () => {
    const share = new HistoryShare(openMemory(), "");
    share.release();
    const answers = share.openAnswers("a");
    expect(share.openAnswers("a")).toBe(answers);
    const end = vi.spyOn(answers, "end");
    share.release();
    expect(end).toHaveBeenCalledOnce();
  });

  it("ends the wait of a run when its signal is aborted", async () => {
    const memory = openMemory();
    new HistoryShare(memory, "").take(toMessages(6000), "thread_id");
    const stop = new AbortController();
    const waiting = memory.wait(stop.signal);
    stop.abort();
    await expect(waiting).rejects.toThrow();
  });
});
