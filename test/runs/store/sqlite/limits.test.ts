import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../../src/core/errors.ts";
import { type Run, RunStatus } from "../../../../src/gen/outrigger/v1/run_pb.ts";
import { StoreFullError } from "../../../../src/runs/errors.ts";
import type { RunStore } from "../../../../src/runs/store.ts";
import {
  createdRun,
  creation,
  endedRun,
  endRun,
  getClaim,
  holder,
  message,
  pagesOfLargeMessages,
  textEvent,
  thread,
} from "../../contract/data.ts";
import { getDriver, newPath, openFile, openMemory } from "./open-store.ts";

const MEBIBYTE = 1024 * 1024;

/** A text that cannot be compressed. */
function largeText(characters: number): string {
  return Array.from({ length: characters }, () => String.fromCharCode(33 + Math.random() * 90)).join("");
}

/** Creates runs until the store refuses one. */
async function createUntilFull(store: RunStore, text: string): Promise<{ runs: Run[]; failure: unknown }> {
  const runs: Run[] = [];
  for (;;) {
    try {
      runs.push(await createdRun(store, { input: [text], queued: true }));
    } catch (failure) {
      return { runs, failure };
    }
  }
}

describe("a SQLite store in memory that is full", () => {
  it("removes the oldest runs that are over first, and never one that is in progress", async () => {
    const store = await openMemory({}, 4 * MEBIBYTE);
    const running = await createdRun(store, { input: [largeText(100_000)] });
    const queued = await createdRun(store, { input: [largeText(100_000)], queued: true });
    const ended = [];
    for (let index = 0; index < 100; index += 1) {
      ended.push(await endedRun(store, { input: [largeText(100_000)] }));
    }
    const kept = [];
    for (const { id } of ended) kept.push((await store.getRun("owner", id)) !== undefined);
    expect(kept.at(-1)).toBe(true);
    expect(kept[0]).toBe(false);
    expect(kept.lastIndexOf(false)).toBe(kept.indexOf(true) - 1);
    for (const run of [running, queued]) expect(await store.getRun("owner", run.id)).toBeDefined();
    const [pages] = await getDriver(store).read<{ page_count: number }>("PRAGMA page_count", []);
    expect((pages?.page_count ?? 0) * 4096).toBeLessThanOrEqual(4 * MEBIBYTE);
    await store.close();
  });

  it.each([4, 16])(
    "answers every call while it is filled ten times over, with %i KB a run",
    async (kilobytes) => {
      const bytes = 2 * MEBIBYTE;
      const store = await openMemory({}, bytes);
      const text = largeText(kilobytes * 1024);
      const runs = Math.ceil((10 * bytes) / (2 * kilobytes * 1024));
      let previousRunId = "";
      for (let index = 0; index < runs; index += 1) {
        const status = index % 3 === 0 ? RunStatus.REQUIRES_ACTION : RunStatus.COMPLETED;
        const fields = index % 4 === 1 ? { input: [text], previousRunId } : { input: [text] };
        previousRunId = (await endedRun(store, fields, status, text)).id;
      }
      expect(await store.getRun("owner", previousRunId)).toBeDefined();
      await store.close();
    },
    60_000,
  );

  it("refuses runs before the runs in progress use more than half of the space, so that all of these can end", async () => {
    const store = await openMemory({}, 4 * MEBIBYTE);
    const text = largeText(64 * 1024);
    const { runs, failure } = await createUntilFull(store, text);
    expect(failure).toBeInstanceOf(StoreFullError);
    expect(failure).toMatchObject({ message: expect.stringContaining("raise runs.memory_size") });
    expect(runs.length).toBeGreaterThan(10);
    for (const { id } of runs) {
      const [taken] = await store.claimQueued(holder, 1, []);
      expect(taken?.run.id).toBe(id);
      if (taken === undefined) return;
      const events = [textEvent(1, text)];
      expect(await store.write({ claim: taken.claim, events })).toBe(true);
      await endRun(store, { ...taken.run, lastSequence: 1 }, RunStatus.COMPLETED, text, taken.claim);
    }
    expect(await store.countQueued("owner")).toEqual({ owner: 0, total: 0 });
    expect(await createdRun(store, { input: [text], queued: true })).toBeDefined();
    await store.close();
  });

  it("refuses events of runs in progress before their ends", async () => {
    const store = await openMemory({}, 2 * MEBIBYTE);
    const runs = [await createdRun(store), await createdRun(store)];
    const [first] = runs;
    if (first === undefined) return;
    let sequence = 0;
    let failure: unknown;
    while (failure === undefined) {
      const events = [textEvent(sequence + 1, largeText(20_000))];
      await store.write({ claim: getClaim(first.id), events }).then(
        () => (sequence += 1),
        (thrown: unknown) => (failure = thrown),
      );
    }
    expect(failure).toBeInstanceOf(StoreFullError);
    await expect(createdRun(store)).rejects.toThrow(StoreFullError);
    // No run is over yet, so that none can make room for this answer, which is larger than what was refused.
    for (const run of runs.slice(1)) await endRun(store, run, RunStatus.COMPLETED, largeText(20_000));
    await endRun(store, { ...first, lastSequence: sequence }, RunStatus.FAILED);
    expect(await createdRun(store)).toBeDefined();
    await store.close();
  });

  it("makes room for the messages of runs and of conversations too", async () => {
    const store = await openMemory({}, 4 * MEBIBYTE);
    await store.createThread("owner", thread(), [message(largeText(500_000))]);
    const run = await createdRun(store);
    for (let index = 1; index < 40; index += 1) await endedRun(store, { input: [largeText(100_000)] });
    const output = message(largeText(900_000), { runId: run.id, output: true });
    expect(await store.write({ claim: getClaim(run.id), messages: [output] })).toBe(true);
    expect(await store.getMessage("owner", output.id)).toEqual(output);
    const conversation = thread();
    await store.createThread("owner", conversation, []);
    const appended = await store.appendMessages("owner", conversation.id, [message(largeText(900_000))]);
    expect(appended).toEqual({ case: "appended" });
    await store.close();
  });

  it("warns once that runs are removed, and names the settings that help", async () => {
    const problems: unknown[] = [];
    const store = await openMemory({ onProblem: (problem) => problems.push(problem) }, 2 * MEBIBYTE);
    for (let index = 0; index < 60; index += 1) await endedRun(store, { input: [largeText(100_000)] });
    expect(problems).toHaveLength(1);
    expect(String(problems[0])).toMatch(/oldest finished runs are removed.*runs\.memory_size.*runs\.store/);
    await store.close();
  });
});

describe("a SQLite store in a file with a limit", () => {
  it("refuses new runs when it is nearly full, removes none, and counts runs in progress after a restart", async () => {
    const path = newPath();
    const store = await openFile({ maxBytes: 4 * MEBIBYTE }, path);
    const text = largeText(64 * 1024);
    const ended = await endedRun(store, { input: [text] });
    const { runs, failure } = await createUntilFull(store, text);
    expect(failure).toBeInstanceOf(StoreFullError);
    expect(failure).toMatchObject({ message: expect.stringContaining("runs.max_file_size") });
    await store.close();
    const again = await openFile({ maxBytes: 4 * MEBIBYTE }, path);
    const more = await createUntilFull(again, text);
    expect(more.runs.length).toBeLessThan(runs.length / 4);
    for (const { run, claim } of await again.claimQueued(holder, 100, [])) {
      await endRun(again, run, RunStatus.CANCELLED, "answer", claim);
    }
    expect(await again.getRun("owner", ended.id)).toBeDefined();
    expect(await createdRun(again, { input: [text] })).toBeDefined();
    await again.close();
  });
});

describe("a SQLite store in a file whose disk is full", () => {
  it("refuses the call, writes nothing, and works again when there is space", async () => {
    const store = await openFile();
    const driver = getDriver(store);
    const [before] = await driver.read<{ page_count: number }>("PRAGMA page_count", []);
    await driver.read(`PRAGMA max_page_count = ${(before?.page_count ?? 0) + 5}`, []);
    const toCreate = creation({ input: [largeText(100_000)] });
    const failure = await store.createRun(toCreate).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreFullError);
    expect(String(failure)).toContain("the disk with the store of runs is full");
    expect(await store.getRun("owner", toCreate.run.id)).toBeUndefined();
    await driver.read("PRAGMA max_page_count = 100000", []);
    expect((await store.createRun(toCreate)).case).toBe("created");
    await store.close();
  });
});

describe("long work of a SQLite store", () => {
  it("returns to the event loop in between", async () => {
    const store = await openFile();
    // Their removal takes several times the 20 ms that the store may be busy, on a fast machine as well.
    const count = 1800;
    for (let index = 0; index < count; index += 1) await endedRun(store);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await store.removeOld(new Date(8.64e15), count);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
    await store.close();
  });

  it("gives the space of deleted runs back to the system", async () => {
    const store = await openFile();
    const driver = getDriver(store);
    const countPages = async () => {
      const [row] = await driver.read<{ page_count: number }>("PRAGMA page_count", []);
      return row?.page_count ?? 0;
    };
    const runs = [];
    for (let index = 0; index < 60; index += 1) {
      runs.push(await endedRun(store, { input: [largeText(100_000)] }));
    }
    const before = await countPages();
    for (const { id } of runs) await store.deleteRun("owner", id);
    await expect.poll(countPages, { timeout: 20_000 }).toBeLessThan(before / 3);
    await store.close();
  });
});

describe("a body that is too large", () => {
  it("is refused, and nothing is written", async () => {
    const store = await openMemory({ maxBodyBytes: 10_000 });
    const toCreate = creation({ input: ["small", largeText(20_000)] });
    await expect(store.createRun(toCreate)).rejects.toThrow(InvalidRequestError);
    expect(await store.getRun("owner", toCreate.run.id)).toBeUndefined();
    expect(await store.getThread("owner", toCreate.run.threadId)).toBeUndefined();
    await store.close();
  });
});

describe("a large body", () => {
  it("leaves no copy in the statement that wrote it", async () => {
    const store = await openMemory();
    await endedRun(store, { input: [largeText(2 * MEBIBYTE)] });
    for (const [text, kept] of getDriver(store).statements) {
      expect(kept.length, text).toBeLessThan(MEBIBYTE);
    }
    await store.close();
  });
});

describe("a page of large messages", () => {
  it("ends early", async () => {
    const store = await openMemory({}, 64 * MEBIBYTE);
    expect(await pagesOfLargeMessages(store)).toEqual([1, 1, 1]);
    await store.close();
  });
});
