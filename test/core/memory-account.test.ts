import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RateLimitError } from "../../src/core/errors.ts";
import {
  getMaxAnswerBytes,
  getMemoryLimits,
  MemoryAccount,
  READ_WEIGHT,
} from "../../src/core/memory-account.ts";
import { FREE_BYTES, measureMemory } from "../../src/core/memory-pool.ts";

const MIB = 1024 * 1024;
const HEAP_BYTES = 128 * MIB;

function openAccount(options: { isShared?: boolean; limits?: object } = {}) {
  const { isShared = false, limits } = options;
  return new MemoryAccount({ heapBytes: HEAP_BYTES, isShared: () => isShared, limits });
}

/** Whether a promise settles without anything else happening. */
async function isSettled(promise: Promise<unknown> | undefined): Promise<boolean> {
  let settled = promise === undefined;
  void promise?.then(
    () => (settled = true),
    () => (settled = true),
  );
  await sleep(0);
  return settled;
}

describe("the account of memory", () => {
  it("reserves memory for answers, regardless of the demand of requests and histories", () => {
    const account = openAccount();
    for (const pool of [account.requests, account.histories, account.reads, account.unsent, account.kept])
      while (pool.fits(MIB, "")) pool.change(MIB, "");
    expect(account.answers.fits(account.answers.guaranteedBytes, "")).toBe(true);
    expect(account.usedBytes).toBeLessThanOrEqual(account.maxBytes - account.answers.guaranteedBytes);
  });

  it("gives each use its guarantee while one answer takes all of the memory for answers", () => {
    const account = openAccount();
    expect(account.answers.open("").reserve(account.answers.maxBytes)).toBeUndefined();
    for (const pool of [account.requests, account.histories, account.reads, account.unsent]) {
      expect(pool.fits(pool.guaranteedBytes, "")).toBe(true);
      pool.change(pool.guaranteedBytes, "");
      expect(pool.fits(1, "")).toBe(false);
    }
  });

  it("never gives away more than it has, whatever is taken", () => {
    const uses = ["requests", "answers", "histories", "reads", "unsent", "kept"] as const;
    const step = fc.record({ use: fc.constantFrom(...uses), bytes: fc.nat({ max: 32 * MIB }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
        const account = openAccount();
        for (const { use, bytes } of steps) if (account[use].fits(bytes, "")) account[use].change(bytes, "");
        expect(account.usedBytes).toBeLessThanOrEqual(account.maxBytes);
        for (const use of uses) expect(account[use].usedBytes).toBeLessThanOrEqual(account[use].maxBytes);
      }),
    );
  });

  it("lets one owner take three quarters of a limit if there are several owners", () => {
    const { requests } = openAccount({ isShared: true });
    const most = (requests.maxBytes * 3) / 4;
    expect(requests.fits(most, "greedy")).toBe(true);
    requests.change(most, "greedy");
    expect(requests.fits(1, "greedy")).toBe(false);
    expect(requests.fits(MIB, "modest")).toBe(true);
    requests.change(-most, "greedy");
    expect(requests.fits(most, "greedy")).toBe(true);
  });

  it("lets the only owner take everything", () => {
    const { requests } = openAccount();
    expect(requests.fits(requests.maxBytes, "alone")).toBe(true);
  });

  it("makes room for every limit that the configuration raises", () => {
    const { requests } = openAccount({ limits: { maxRequestMemoryBytes: 512 * MIB } });
    expect(requests.fits(400 * MIB, "")).toBe(true);
  });

  it("follows the heap, up to limits that suffice everywhere", () => {
    expect(getMemoryLimits(HEAP_BYTES).maxRequestMemoryBytes).toBe(16 * MIB);
    expect(getMemoryLimits(64 * 1024 * MIB).maxRequestMemoryBytes).toBe(1024 * MIB);
    expect(getMaxAnswerBytes(getMemoryLimits(HEAP_BYTES))).toBeLessThan(12 * MIB);
    expect(getMaxAnswerBytes(getMemoryLimits(4096 * MIB))).toBe(64 * MIB);
  });
});

describe("shares of memory that wait", () => {
  it("lets the oldest one end, and the others wait for it", async () => {
    const { answers } = openAccount();
    const [first, second] = [answers.open(""), answers.open("")];
    expect(first.reserve(MIB)).toBeUndefined();
    const waiting = second.reserve(answers.maxBytes / 2);
    expect(await isSettled(waiting)).toBe(false);
    expect(first.reserve(answers.maxBytes / 2)).toBeUndefined();
    first.end();
    await waiting;
    expect(answers.usedBytes).toBe(answers.maxBytes / 2 - FREE_BYTES);
    second.end();
    expect(answers.usedBytes).toBe(0);
  });

  it("refuses a size that never fits immediately, and names the limit", () => {
    const { answers } = openAccount();
    const share = answers.open("");
    expect(() => share.reserve(answers.maxBytes + MIB)).toThrow(RateLimitError);
    expect(() => share.reserve(answers.maxBytes + MIB)).toThrow(/limits\.max_answer_memory/);
    expect(() => share.reserve(answers.maxBytes + MIB)).toThrow(
      expect.objectContaining({ retryable: false }),
    );
  });

  it("get exactly what is left: all of it for the oldest one, and up to half of the limit for others", async () => {
    const { answers } = openAccount();
    const [alone, other, late] = [answers.open(""), answers.open(""), answers.open("")];
    expect(alone.reserve(answers.maxBytes + FREE_BYTES)).toBeUndefined();
    expect(() => answers.open("").reserve(answers.maxBytes + FREE_BYTES + 1)).toThrow(RateLimitError);
    alone.give(answers.maxBytes - MIB);
    expect(other.reserve(answers.maxBytes / 2 - MIB + FREE_BYTES)).toBeUndefined();
    expect(answers.usedBytes).toBe(answers.maxBytes / 2);
    expect(await isSettled(late.reserve(FREE_BYTES))).toBe(true);
    expect(await isSettled(late.reserve(1))).toBe(false);
    late.end();
  });

  it("may take the whole limit piece by piece, or wait until all of it is free", async () => {
    const { answers } = openAccount();
    const [first, second] = [answers.open(""), answers.open("")];
    expect(first.reserve(MIB + FREE_BYTES)).toBeUndefined();
    expect(first.reserve(answers.maxBytes - MIB)).toBeUndefined();
    const waiting = second.reserve(answers.maxBytes + FREE_BYTES);
    expect(await isSettled(waiting)).toBe(false);
    first.end();
    await waiting;
    expect(answers.usedBytes).toBe(answers.maxBytes);
  });

  it("come after the one that has held memory for longest, although it may have been opened later", async () => {
    const { answers } = openAccount();
    const [opened, holder, other] = [answers.open(""), answers.open(""), answers.open("")];
    void holder.reserve(MIB);
    void other.reserve(30 * MIB);
    const waits = [opened.reserve(8 * MIB), holder.reserve(40 * MIB)];
    other.give(8 * MIB);
    await waits[1];
    expect(await isSettled(waits[0])).toBe(false);
    holder.end();
    await waits[0];
  });

  it("do not count as holding memory for long while they only wait for their reader", () => {
    const { answers } = openAccount();
    const [written, growing] = [answers.open(""), answers.open("")];
    void written.reserve(2 * MIB);
    written.shrink(MIB);
    void growing.reserve(MIB);
    expect(growing.reserve((answers.maxBytes * 3) / 4)).toBeUndefined();
  });

  it("get their turns by age, as soon as there is enough for each", async () => {
    const { answers } = openAccount();
    const holder = answers.open("");
    const shares = ["first", "second", "third"].map((name) => ({ name, share: answers.open("") }));
    void holder.reserve(answers.maxBytes / 2 + FREE_BYTES);
    const turns: string[] = [];
    const [first, second, third] = shares.map(({ name, share }) => async () => {
      await share.reserve(8 * MIB);
      turns.push(name);
    });
    const all = [third?.(), first?.(), second?.()];
    holder.give(8 * MIB);
    await sleep(0);
    expect(turns).toEqual(["first"]);
    holder.give(16 * MIB);
    await sleep(0);
    expect(turns).toEqual(["first", "second", "third"]);
    await Promise.all(all);
  });

  it("do not overtake an older one that needs more", async () => {
    const { answers } = openAccount();
    const [holder, first, second] = [answers.open(""), answers.open(""), answers.open("")];
    void holder.reserve(answers.maxBytes / 2 + FREE_BYTES);
    const waits = [first.reserve(8 * MIB), second.reserve(MIB)];
    holder.give(4 * MIB);
    expect(await isSettled(waits[1])).toBe(false);
    holder.give(6 * MIB);
    await Promise.all(waits);
    expect(answers.usedBytes).toBe(answers.maxBytes / 2 - MIB - 2 * FREE_BYTES);
  });

  it("leave no listener at a signal after their turn", async () => {
    const { answers } = openAccount();
    const [holder, waiting] = [answers.open(""), answers.open("")];
    void holder.reserve(answers.maxBytes / 2);
    const { signal } = new AbortController();
    const wait = waiting.reserve(MIB, signal);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    holder.end();
    await wait;
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("count only what exceeds 64 KiB", () => {
    const { answers } = openAccount();
    const share = answers.open("", 2);
    expect(share.reserve(32 * 1024)).toBeUndefined();
    expect(answers.usedBytes).toBe(0);
    expect(share.reserve(1)).toBeUndefined();
    expect(answers.usedBytes).toBe(2);
    share.give(1);
    expect(answers.usedBytes).toBe(0);
  });

  it("do not wait behind an owner that has taken all that one owner may", async () => {
    const { answers } = openAccount({ isShared: true });
    const [holder, greedy, modest] = ["holder", "greedy", "modest"].map((owner) => answers.open(owner));
    void holder?.reserve(20 * MIB);
    void greedy?.reserve(10 * MIB);
    const waits = [greedy?.reserve(40 * MIB), modest?.reserve(MIB)];
    holder?.give(MIB);
    expect(await isSettled(waits[1])).toBe(true);
    expect(await isSettled(waits[0])).toBe(false);
    greedy?.end();
    await expect(waits[0]).rejects.toThrow("the call has ended");
  });

  it("ends a wait when its call ends or is cancelled, and takes nothing", async () => {
    const { answers } = openAccount();
    const [holder, ended, cancelled] = [answers.open(""), answers.open(""), answers.open("")];
    void holder.reserve(answers.maxBytes / 2);
    const used = answers.usedBytes;
    const stop = new AbortController();
    const waits = [ended.reserve(MIB), cancelled.reserve(MIB, stop.signal)];
    ended.end();
    stop.abort();
    for (const wait of waits) await expect(wait).rejects.toThrow();
    expect(answers.usedBytes).toBe(used);
    expect(answers.waiting).toBe(0);
  });

  it("lets the oldest share grow if all wait for each other", async () => {
    const { answers } = openAccount();
    const [oldest, other] = [answers.open(""), answers.open("")];
    void oldest.reserve(MIB);
    void other.reserve(answers.maxBytes / 2 - 2 * MIB);
    const refused = other.reserve(4 * MIB);
    const granted = oldest.reserve(answers.maxBytes / 2 + 4 * MIB);
    await expect(refused).rejects.toThrow(RateLimitError);
    other.end();
    await granted;
    expect(oldest.bytes).toBe(answers.maxBytes / 2 + 5 * MIB);
  });

  it("reclaims memory from peers that do not read while another call waits", async () => {
    const { answers } = openAccount();
    const [unread, waiting] = [answers.open(""), answers.open("")];
    answers.onShortage(() => unread.end());
    void unread.reserve(answers.maxBytes / 2);
    await waiting.reserve(MIB);
    expect(waiting.bytes).toBe(MIB);
  });

  it("hold after each read what was read so far, and nothing after their end", async () => {
    const { reads } = openAccount();
    const share = reads.open("");
    const texts = ["x".repeat(MIB), "small"];
    for (const text of texts) expect(await share.read(async () => text)).toBe(text);
    expect(share.bytes).toBe(measureMemory(texts[0]) + measureMemory(texts[1]));
    share.end();
    expect(share.reserve(MIB)).toBeUndefined();
    expect([share.bytes, reads.usedBytes]).toEqual([0, 0]);
  });

  it("reads values of unknown sizes as if each had a quarter of a mebibyte", async () => {
    const { reads } = openAccount({ limits: { maxReadMemoryBytes: 4 * MIB } });
    const shares = Array.from({ length: 20 }, () => reads.open("", READ_WEIGHT));
    let [atOnce, most] = [0, 0];
    const all = shares.map(async (share) => {
      await share.read(async () => {
        atOnce += 1;
        most = Math.max(most, atOnce);
        await sleep(20);
        atOnce -= 1;
        return "small";
      });
      share.end();
    });
    await Promise.all(all);
    // Half of the limit, with 64 KiB of each share that are not counted.
    expect(most).toBe(10);
  });

  it("reads a value of up to twice the limit, and smaller ones after it", async () => {
    const limit = 4 * MIB;
    const { reads } = openAccount({ limits: { maxReadMemoryBytes: limit } });
    const read = async (bytes: number) => {
      const share = reads.open("", READ_WEIGHT);
      const text = await share.read(async () => "x".repeat(bytes / READ_WEIGHT)).finally(() => share.end());
      return text.length * READ_WEIGHT;
    };
    expect(await read(2 * limit - 1024)).toBe(2 * limit - 1024);
    expect(await read(1024)).toBe(1024);
    await expect(read(2 * limit + 1024)).rejects.toThrow(
      /^what is stored needs \d+ bytes of memory, expected at most 4194304 \(limits\.max_read_memory\)$/,
    );
    expect(reads.usedBytes).toBe(0);
  });

  it("reads large values one after the other once it knows how large they are", async () => {
    const account = openAccount();
    const large = "x".repeat(account.reads.maxBytes / 8);
    const first = account.reads.open("", READ_WEIGHT);
    await first.read(async () => large);
    first.end();
    const shares = Array.from({ length: 4 }, () => account.reads.open("", READ_WEIGHT));
    let [atOnce, most] = [0, 0];
    const reads = shares.map(async (share) => {
      await share.read(async () => {
        atOnce += 1;
        most = Math.max(most, atOnce);
        return large;
      });
      await sleep(5);
      atOnce -= 1;
      share.end();
    });
    await Promise.all(reads);
    expect(most).toBe(1);
    expect(account.reads.usedBytes).toBe(0);
  });
});

describe("a share of memory that waits for long", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function openFull() {
    const { answers } = openAccount();
    const [holder, waiting] = [answers.open(""), answers.open("")];
    void holder.reserve(answers.maxBytes / 2 + FREE_BYTES);
    let error: unknown;
    waiting.reserve(MIB)?.catch((thrown: unknown) => {
      error = thrown;
    });
    return { answers, holder, waiting, getError: () => error };
  }

  it("is refused after 15 seconds, and may be tried again", async () => {
    const { answers, getError } = openFull();
    await vi.advanceTimersByTimeAsync(14_999);
    expect(getError()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(getError()).toMatchObject({ kindName: "RATE_LIMIT", retryable: true, retryAfter: 1 });
    expect(String(getError())).toContain(
      `use all of their ${answers.maxBytes} bytes (limits.max_answer_memory)`,
    );
  });

  it("asks twice a second for memory of peers that do not read, and no longer than it waits", async () => {
    const { answers, holder } = openFull();
    const reclaim = vi.fn();
    answers.onShortage(reclaim);
    await vi.advanceTimersByTimeAsync(1999);
    expect(reclaim).toHaveBeenCalledTimes(3);
    holder.end();
    await vi.advanceTimersByTimeAsync(500);
    expect(reclaim).toHaveBeenCalledTimes(3);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("does not wait when its call ends, also if no other one waits", async () => {
    const { waiting, getError } = openFull();
    waiting.end();
    await vi.advanceTimersByTimeAsync(0);
    expect(String(getError())).toContain("the call has ended");
  });
});
