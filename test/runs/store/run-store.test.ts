/** How the store uses its database: the space for each change, its transactions, and what it keeps of its runs. */
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { StoreFullError } from "../../../src/runs/errors.ts";
import type { RunStore } from "../../../src/runs/store.ts";
import {
  createdResult,
  createdRun,
  creation,
  endedRun,
  endRun,
  finished,
  getClaim,
  holder,
  message,
  otherHolder,
  runEvent,
  step,
  textEvent,
  thread,
} from "../contract/data.ts";
import { getDriver, openMemory } from "./sqlite/open-store.ts";

let store: RunStore;

beforeEach(async () => {
  store = await openMemory();
});

afterEach(() => store.close());

/** A text that cannot be compressed much. */
function noise(characters: number): string {
  return randomBytes(Math.ceil((characters * 3) / 4)).toString("base64");
}

/** Notes the uses of space by what is executed from then on. */
function watchUses(): string[] {
  const uses: string[] = [];
  const driver = getDriver(store);
  const { batch, transaction } = driver;
  vi.spyOn(driver, "batch").mockImplementation((calls, use) => {
    uses.push(use);
    return batch.call(driver, calls, use);
  });
  vi.spyOn(driver, "transaction").mockImplementation((use, work) => {
    uses.push(use);
    return transaction.call(driver, use, work) as never;
  });
  return uses;
}

describe("the space for a change", () => {
  it("is the smallest for new runs, threads and messages", async () => {
    const conversation = thread();
    const root = await endedRun(store);
    const uses = watchUses();
    await createdRun(store);
    await createdRun(store, { previousRunId: root.id });
    await store.createThread("owner", conversation, [message("a")]);
    await store.updateThread("owner", conversation);
    await store.appendMessages("owner", conversation.id, [message("b")]);
    expect(uses).toEqual(["create", "create", "create", "create", "create"]);
  });

  it("is larger for runs in progress, and the largest for their ends", async () => {
    const run = await createdRun(store);
    const waiting = await createdRun(store);
    const uses = watchUses();
    await store.write({ claim: getClaim(run.id), events: [textEvent(1, "x")] });
    await store.write({ claim: getClaim(run.id), steps: [step("x")] });
    await endRun(store, waiting, RunStatus.REQUIRES_ACTION);
    await endRun(store, { ...run, lastSequence: 1 }, RunStatus.FAILED);
    expect(uses).toEqual(["append", "append", "append", "end"]);
  });

  it("is the whole space for deletions and heartbeats", async () => {
    const [queued, over] = [await createdRun(store, { queued: true }), await endedRun(store)];
    const conversation = thread();
    const added = message("a");
    await store.createThread("owner", conversation, [added]);
    const uses = watchUses();
    await store.renewLease(holder);
    await store.requestCancel("owner", queued.id);
    await store.claim(queued.id, holder);
    await store.claimQueued(holder, 1, []);
    await store.claimAbandoned(holder, [queued.id], 1);
    await store.deleteMessage("owner", conversation.id, added.id);
    await store.deleteThread("owner", conversation.id);
    await store.deleteRun("owner", over.id);
    await store.removeOld(new Date(), 10);
    await store.releaseLease(holder);
    expect(uses.length).toBeGreaterThanOrEqual(10);
    expect(new Set(uses)).toEqual(new Set(["any"]));
  });
});

describe("the room for runs in progress", () => {
  const MEBIBYTE = 1024 * 1024;

  /** Creates small runs until one is refused. Returns the share of the space that is used then. */
  async function fill(text: string): Promise<number> {
    const full = await openMemory({}, MEBIBYTE);
    try {
      for (;;) await createdRun(full, { input: [text], queued: true });
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(StoreFullError);
      return (getDriver(full).space?.usedBytes() ?? 0) / MEBIBYTE;
    } finally {
      await full.close();
    }
  }

  it.each([
    ["small", "hi"],
    ["of a kilobyte", "abcdefgh".repeat(128)],
    [
      "of two pages",
      Array.from({ length: 3000 }, (_, index) => String.fromCharCode(33 + ((index * 7919) % 89))).join(""),
    ],
  ])("is counted as it is used, by requests that are %s", async (_name, text) => {
    const used = await fill(text);
    expect(used).toBeGreaterThan(0.3);
    expect(used).toBeLessThan(0.7);
  });

  it("is free again when they end, are cancelled in the queue or are deleted", async () => {
    const full = await openMemory({}, MEBIBYTE);
    const text = "x".repeat(900);
    const create = () => createdRun(full, { input: [text], queued: true });
    const ids: string[] = [];
    await expect(
      (async () => {
        for (;;) ids.push((await create()).id);
      })(),
    ).rejects.toThrow("queued runs and runs in progress take more than half");
    const [first = "", second = ""] = ids;
    await full.deleteRun("owner", first);
    await create();
    await expect(create()).rejects.toThrow(StoreFullError);
    const taken = await full.claim(second, holder);
    if (taken === undefined) expect.fail("expected that it can be taken");
    await endRun(full, taken.run, RunStatus.CANCELLED, "", taken.claim);
    await create();
    await full.close();
  });

  it("is needed by runs that continue others as well", async () => {
    const full = await openMemory({}, MEBIBYTE);
    const root = await endedRun(full);
    await createdRun(full, { input: [noise(500_000)] });
    const next = creation({ previousRunId: root.id, input: [noise(300_000)] });
    await expect(full.createRun(next)).rejects.toThrow("take more than half");
    expect(await full.getRun("owner", next.run.id)).toBeUndefined();
    await full.close();
  });

  it("is used by the events of a run too", async () => {
    const full = await openMemory({}, MEBIBYTE);
    const run = await createdRun(full);
    for (let sequence = 1; sequence <= 50; sequence += 1) {
      await full.write({ claim: getClaim(run.id), events: [textEvent(sequence, noise(14_000))] });
    }
    await expect(createdRun(full)).rejects.toThrow("take more than half");
    await endRun(full, { ...run, lastSequence: 50 });
    expect(await createdRun(full)).toBeDefined();
    await full.close();
  });
});

describe("a read of many events or messages", () => {
  it("gives 256 writes of events at most, and about a mebibyte", async () => {
    const run = await createdRun(store);
    const claim = getClaim(run.id);
    for (let sequence = 1; sequence <= 300; sequence += 1)
      await store.write({ claim, events: [textEvent(sequence, "x")] });
    expect(await store.readEvents(run.id, -1, 1000)).toHaveLength(256);
    for (let sequence = 301; sequence <= 306; sequence += 1)
      await store.write({ claim, events: [textEvent(sequence, noise(400_000))] });
    const large = await store.readEvents(run.id, 300, 100);
    expect(large.length).toBeGreaterThanOrEqual(2);
    expect(large.length).toBeLessThanOrEqual(4);
  });

  it("gives messages of up to four mebibytes", async () => {
    const conversation = thread();
    const messages = [1, 2, 3, 4].map(() => message(noise(1_500_000)));
    await store.createThread("owner", conversation, messages);
    const query = { threadId: conversation.id, order: "oldest first", after: "", limit: 10 } as const;
    const { elements, hasMore } = await store.listMessages("owner", query);
    expect(elements.length).toBeGreaterThanOrEqual(2);
    expect(elements.length).toBeLessThanOrEqual(3);
    expect(hasMore).toBe(true);
  });
});

describe("the removal of old runs", () => {
  it("is made in several transactions, and counts runs and conversations", async () => {
    for (let count = 0; count < 40; count += 1) await endedRun(store);
    for (let count = 0; count < 5; count += 1) await store.createThread("owner", thread(), []);
    const uses = watchUses();
    expect(await store.removeOld(new Date(), 35)).toBe(35);
    expect(uses).toHaveLength(2);
    expect(await store.removeOld(new Date(), 100)).toBe(10);
    expect(await store.removeOld(new Date(), 100)).toBe(0);
  });
});

describe("processes that died long ago", () => {
  it("are forgotten", async () => {
    await store.renewLease({ id: "dead", timeoutMs: 1 });
    await new Promise((resolve) => setTimeout(resolve, 30));
    await store.renewLease({ id: "alive", timeoutMs: 1 });
    const rows = await getDriver(store).read<{ id: string }>("SELECT id FROM processes", []);
    const ids = rows.map(({ id }) => id);
    expect(ids).toContain("alive");
    expect(ids).not.toContain("dead");
  });
});

describe("a run that this process has claimed", () => {
  it("is written without a look at it before, and after its steps and events are known", async () => {
    const { run, claim } = await createdResult(store, creation());
    const driver = getDriver(store);
    const read = vi.spyOn(driver, "read");
    for (let sequence = 1; sequence <= 3; sequence += 1) {
      await store.write({ claim: claim ?? getClaim(run.id), events: [textEvent(sequence, "x")] });
      await store.write({ claim: claim ?? getClaim(run.id), steps: [step(`step ${sequence}`)] });
    }
    expect(read).not.toHaveBeenCalled();
    expect((await store.readSteps(run.id)).length).toBe(3);
    expect((await store.readEvents(run.id, -1, 10)).map(({ sequence }) => sequence)).toEqual([0, 1, 2, 3]);
  });

  it("is read again after a failed write, and continues from there", async () => {
    const run = await createdRun(store);
    const claim = getClaim(run.id);
    const driver = getDriver(store);
    const { batch } = driver;
    driver.batch = () => Promise.reject(new Error("a failure of the test"));
    await expect(store.write({ claim, steps: [step("one")] })).rejects.toThrow("a failure of the test");
    driver.batch = batch.bind(driver);
    expect(await store.write({ claim, events: [textEvent(1, "x")], steps: [step("one")] })).toBe(true);
    expect(await store.write({ claim, events: [textEvent(2, "x")], steps: [step("two")] })).toBe(true);
    expect(await store.readSteps(run.id)).toEqual([step("one"), step("two")]);
  });

  it("is read again after a write whose answer was lost, which counts", async () => {
    const run = await createdRun(store);
    const claim = getClaim(run.id);
    const driver = getDriver(store);
    const { batch } = driver;
    driver.batch = async (...parameters) => {
      await batch.apply(driver, parameters);
      throw new Error("the answer was lost");
    };
    const events = [textEvent(1, "x")];
    await expect(store.write({ claim, events, steps: [step("one")] })).rejects.toThrow("was lost");
    driver.batch = batch.bind(driver);
    expect(await store.write({ claim, events: [textEvent(2, "x")], steps: [step("two")] })).toBe(true);
    expect(await store.readSteps(run.id)).toEqual([step("one"), step("two")]);
  });

  it("refuses events that leave a gap or repeat one, and writes nothing of them", async () => {
    const run = await createdRun(store);
    const claim = getClaim(run.id);
    for (const wrong of [0, 2, 3])
      await expect(
        store.write({ claim, events: [textEvent(wrong, "x")], steps: [step("x")] }),
      ).rejects.toThrow(`expected the event 1 of a run, found the event ${wrong}`);
    expect(await store.readSteps(run.id)).toEqual([]);
    expect(await store.write({ claim, events: [textEvent(1, "x")] })).toBe(true);
    const stranger = getClaim(run.id, 1, otherHolder);
    expect(await store.write({ claim: stranger, events: [textEvent(9, "x")] })).toBe(false);
  });

  it("is not written by an earlier claim, whatever is known of the later one", async () => {
    const run = await createdRun(store, { queued: true });
    const first = await store.claim(run.id, holder);
    if (first === undefined) expect.fail("expected that it can be taken");
    await store.write({ claim: first.claim, run });
    const second = await store.claim(run.id, holder);
    expect(second?.claim.fence).toBe(2);
    expect(await store.write({ claim: first.claim, events: [textEvent(1, "x")] })).toBe(false);
    expect(await store.write({ claim: getClaim(run.id, 2), events: [textEvent(1, "x")] })).toBe(true);
  });
});

describe("the notices of a store", () => {
  it("report a run that was continued, ended, removed or queued again", async () => {
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION);
    const heard: string[] = [];
    const leave = store.subscribe(waiting.id, (notice) => heard.push(notice));
    store.subscribeToQueue(() => heard.push("queued"));
    await createdRun(store, { previousRunId: waiting.id });
    expect(heard).toEqual(["change"]);
    leave();
    heard.length = 0;
    await createdRun(store, { queued: true });
    expect(heard).toEqual(["queued"]);
    heard.length = 0;
    const run = await createdRun(store);
    store.subscribe(run.id, (notice) => heard.push(notice));
    expect(heard).toEqual([]);
    const queued = { ...run, status: RunStatus.QUEUED, lastSequence: 1 };
    await store.write({ claim: getClaim(run.id), run: queued, events: [runEvent(1, queued)] });
    expect(heard).toEqual(["change", "queued"]);
    heard.length = 0;
    expect(await store.write({ claim: getClaim(run.id), events: [textEvent(2, "x")] })).toBe(false);
    expect(heard).toEqual([]);
    await store.requestCancel("owner", run.id);
    expect(heard).toEqual(["cancel"]);
    heard.length = 0;
    const over = await endedRun(store);
    store.subscribe(over.id, (notice) => heard.push(notice));
    await store.requestCancel("owner", over.id);
    expect(heard).toEqual([]);
    await store.removeOld(new Date(), 100);
    expect(heard).toEqual(["change"]);
  });

  it("come once to each subscription, also of the same listener, and not after its end", async () => {
    const run = await createdRun(store);
    let heard = 0;
    const listener = () => {
      heard += 1;
    };
    const leaves = [store.subscribe(run.id, listener), store.subscribe(run.id, listener)];
    await store.write({ claim: getClaim(run.id), events: [textEvent(1, "x")] });
    expect(heard).toBe(2);
    leaves[0]?.();
    leaves[0]?.();
    await store.write({ claim: getClaim(run.id), events: [textEvent(2, "x")] });
    expect(heard).toBe(3);
    leaves[1]?.();
    await store.write({ claim: getClaim(run.id), events: [textEvent(3, "x")] });
    expect(heard).toBe(3);
    const over = finished({ ...run, lastSequence: 3 }, RunStatus.COMPLETED);
    const again = store.subscribe(run.id, listener);
    await store.write({ claim: getClaim(run.id), run: over, events: [runEvent(4, over)] });
    expect(heard).toBe(4);
    again();
  });
});
