import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { MemoryAccount } from "../../../src/core/memory-account.ts";
import { RetryInfoSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { type CallMemory, type Reclaim, RequestMemory } from "../../../src/server/requests/request-memory.ts";

const FREE = 64 * 1024;
const MAX = 1_000_000;

function readMemory(
  limits: { maxRequestMemoryBytes?: number; maxCalls?: number } = {},
  reclaim?: Partial<Reclaim>,
  isShared = false,
) {
  const all = { maxRequestMemoryBytes: MAX, maxCalls: 1000, ...limits };
  return new RequestMemory(all, new MemoryAccount({ limits: all, isShared: () => isShared }), {
    memory: () => {},
    call: () => false,
    ...reclaim,
  });
}

function toFailure(run: () => unknown): ConnectError {
  try {
    run();
  } catch (error) {
    if (error instanceof ConnectError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("RequestMemory", () => {
  it("counts the memory that calls take beyond their free share", () => {
    const memory = readMemory();
    const [one, other] = [memory.begin(), memory.begin()];
    one.take(FREE);
    other.take(FREE + 10);
    expect(memory.usedBytes).toBe(10);
    other.give(20);
    expect(memory.usedBytes).toBe(0);
    one.take(5);
    one.release();
    expect([memory.usedBytes, memory.calls]).toEqual([0, 1]);
  });

  it("counts many header fields until the end of their call, and refuses those that do not fit", () => {
    const memory = readMemory();
    const [ordinary, large] = [memory.begin("", 256), memory.begin("", 4000)];
    expect(memory.usedBytes).toBe(4000 * 256 - FREE);
    expect(toFailure(() => memory.begin("", 1000)).code).toBe(Code.ResourceExhausted);
    expect(memory.calls).toBe(2);
    large.release();
    memory.begin("", 1000).release();
    ordinary.release();
    expect([memory.usedBytes, memory.calls]).toEqual([0, 0]);
  });

  it("refuses requests that do not fit now, and says when to retry", () => {
    const memory = readMemory();
    memory.begin().take(MAX + FREE);
    const share = memory.begin();
    const error = toFailure(() => share.take(2 * FREE));
    expect(error.code).toBe(Code.ResourceExhausted);
    expect(error.rawMessage).toContain("(limits.max_request_memory)");
    expect(error.findDetails(RetryInfoSchema)).toHaveLength(1);
    expect(error.metadata.get("grpc-retry-pushback-ms")).toBe("1000");
    // Small requests are served all the same.
    share.take(FREE);
  });

  it("refuses permanently requests that never fit", () => {
    const error = toFailure(() =>
      readMemory()
        .begin()
        .expect(MAX + FREE + 1),
    );
    expect(error.code).toBe(Code.ResourceExhausted);
    expect(error.findDetails(RetryInfoSchema)).toEqual([]);
  });

  it("refuses an announced size without taking it", () => {
    const memory = readMemory();
    const share = memory.begin();
    share.expect(MAX);
    expect(memory.usedBytes).toBe(0);
    expect(toFailure(() => share.expect(2 * MAX)).code).toBe(Code.ResourceExhausted);
  });

  it("reclaims memory from stalled requests", () => {
    const stalled: CallMemory[] = [];
    const memory = readMemory({}, { memory: () => stalled.pop()?.release() });
    stalled.push(memory.begin());
    stalled[0]?.take(MAX);
    const share = memory.begin();
    share.take(MAX);
    expect(memory.calls).toBe(1);
  });

  it("refuses calls over the limit if no stalled call can be ended", () => {
    const call = vi.fn(() => false);
    const memory = readMemory({ maxCalls: 1 }, { call });
    const first = memory.begin();
    const error = toFailure(() => memory.begin());
    expect(error.rawMessage).toContain("(limits.max_calls)");
    expect(error.findDetails(RetryInfoSchema)).toHaveLength(1);
    call.mockReturnValueOnce(true);
    memory.begin().release();
    first.release();
    expect(memory.calls).toBe(0);
  });

  it("gives one access key three quarters of the calls if there are several keys", () => {
    const memory = readMemory({ maxCalls: 4 }, {}, true);
    const calls = ["a", "a", "a"].map((owner) => memory.begin(owner));
    expect(toFailure(() => memory.begin("a")).rawMessage).toContain("3 calls of this access key");
    memory.begin("b").release();
    calls.pop()?.release();
    calls.push(memory.begin("a"));
    expect(toFailure(() => memory.begin("a")).rawMessage).toContain("3 calls of this access key");
    for (const call of calls) call.release();
    for (const owner of ["a", "a", "a"]) memory.begin(owner);
    expect(memory.calls).toBe(3);
  });

  it("gives one access key three quarters of the memory if there are several keys", () => {
    const reclaim = vi.fn();
    const memory = readMemory({}, { memory: reclaim }, true);
    const share = memory.begin("a");
    share.take(MAX / 2 + FREE);
    share.take(MAX / 4);
    expect(reclaim).not.toHaveBeenCalled();
    expect(toFailure(() => share.take(1)).code).toBe(Code.ResourceExhausted);
    memory.begin("b").take(MAX / 4 + FREE);
  });

  it("is empty when all calls have ended, whatever they did", () => {
    const step = fc.record({
      call: fc.nat({ max: 4 }),
      act: fc.constantFrom("take", "give", "elements", "release"),
      bytes: fc.nat({ max: MAX }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const memory = readMemory();
        const calls = Array.from({ length: 5 }, () => ({ share: memory.begin(), bytes: 0 }));
        for (const { call, act, bytes } of steps) {
          const target = calls[call];
          if (target !== undefined) tryTo(act, bytes, target);
          expect(memory.usedBytes).toBeLessThanOrEqual(MAX);
        }
        for (const { share } of calls) share.release();
        expect([memory.usedBytes, memory.calls]).toEqual([0, 0]);
      }),
    );
  });
});

function tryTo(act: string, bytes: number, target: { share: CallMemory; bytes: number }): void {
  const { share } = target;
  try {
    if (act === "take") share.take(bytes);
    else if (act === "elements") share.takeElements(bytes % 1000);
    else if (act === "give") share.give(Math.min(bytes, target.bytes));
    else share.release();
  } catch (error) {
    expect(error).toBeInstanceOf(ConnectError);
    return;
  }
  if (act === "take") target.bytes += bytes;
  if (act === "give") target.bytes -= Math.min(bytes, target.bytes);
}

describe("The shares of a call", () => {
  it("give back the memory of answers, runs and reads when the call ends, and take none later", async () => {
    const limits = { maxRequestMemoryBytes: MAX, maxCalls: 10 };
    const account = new MemoryAccount({ limits });
    const memory = new RequestMemory(limits, account, { memory: () => {}, call: () => false });
    const call = memory.begin();
    const getUsed = () => [account.answers.usedBytes, account.reads.usedBytes];
    const idle = getUsed();
    for (const share of [call.answers, call.runAnswers, call.reads]) await share.reserve(1_000_000);
    expect(account.answers.usedBytes).toBeGreaterThanOrEqual(2_000_000);
    expect(account.reads.usedBytes).toBeGreaterThanOrEqual(1_000_000);
    call.release();
    expect(getUsed()).toEqual(idle);
    const late = memory.begin();
    late.release();
    for (const share of [late.answers, late.runAnswers, late.reads])
      await Promise.resolve(share.reserve(1_000_000)).catch(() => {});
    expect(getUsed()).toEqual(idle);
  });
});
