import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RateLimitError } from "../../src/core/errors.ts";
import {
  getMaxAnswerBytes,
  getMemoryLimits,
  MemoryAccount,
  READ_WEIGHT,
} from "../../src/core/memory-account.ts";
import { FREE_BYTES } from "../../src/core/memory-pool.ts";

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
  it("keeps memory for answers however much requests and histories want", () => {
    const account = openAccount();
    for (const pool of [account.requests, account.histories, account.reads, account.unsent, account.kept])
      while (pool.fits(MIB, "")) pool.change(MIB, "");
    expect(account.answers.fits(account.answers.guaranteedBytes, "")).toBe(true);
    expect(account.usedBytes).toBeLessThanOrEqual(account.maxBytes - account.answers.guaranteedBytes);
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

  it("refuses at once a size that never fits, and names the limit", () => {
    const { answers } = openAccount();
    const share = answers.open("");
    expect(() => share.reserve(answers.maxBytes + MIB)).toThrow(RateLimitError);
    expect(() => share.reserve(answers.maxBytes + MIB)).toThrow(/limits\.max_answer_memory/);
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
