import { describe, expect, it } from "vitest";
import { InvalidRequestError, ServerError } from "../../../../src/core/errors.ts";
import { type Run, RunStatus } from "../../../../src/gen/outrigger/v1/run_pb.ts";
import {
  createdRun,
  creation,
  endedRun,
  finished,
  getHold,
  holder,
  message,
  pagesOfLargeMessages,
  runEvent,
  thread,
} from "../../contract/data.ts";
import { getDriver, openFile, openMemory } from "./open-store.ts";

const MEBIBYTE = 1024 * 1024;

/** A text that does not get smaller. */
function largeText(characters: number): string {
  return Array.from({ length: characters }, () => String.fromCharCode(33 + Math.random() * 90)).join("");
}

describe("a SQLite store in memory that is full", () => {
  it("removes the oldest runs that are over first, and never one that is under way", async () => {
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
    const pages = getDriver(store).first(
      "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size",
    );
    expect(pages?.bytes).toBeLessThanOrEqual(4 * MEBIBYTE);
    await store.close();
  });

  it("makes room for the writes of runs under way and for conversations too", async () => {
    const store = await openMemory({}, 4 * MEBIBYTE);
    await store.createThread("owner", thread(), [message(largeText(500_000))]);
    const run = await createdRun(store);
    for (let index = 1; index < 40; index += 1) await endedRun(store, { input: [largeText(100_000)] });
    const output = message(largeText(900_000), { runId: run.id, isOutput: true });
    expect(await store.write({ hold: getHold(run.id), messages: [output] })).toBe(true);
    expect(await store.getMessage("owner", output.id)).toEqual(output);
    const conversation = thread();
    await store.createThread("owner", conversation, []);
    expect(await store.appendMessages("owner", conversation.id, [message(largeText(900_000))])).toBe(
      "appended",
    );
    await store.close();
  });

  it("fails the call where nothing can be removed, and works again when something can", async () => {
    const store = await openMemory({}, 2 * MEBIBYTE);
    const running: Run[] = [];
    let failure: unknown;
    while (failure === undefined) {
      const created = createdRun(store, { input: [largeText(100_000)] });
      await created.then(
        (run) => running.push(run),
        (error: unknown) => (failure = error),
      );
    }
    expect(failure).toBeInstanceOf(ServerError);
    expect(failure).toMatchObject({ message: expect.stringContaining("in memory: there is no space left") });
    expect(running.length).toBeGreaterThan(5);
    const [first] = running;
    if (first === undefined) return;
    const ended = finished(first, RunStatus.CANCELLED);
    await store.write({ hold: getHold(first.id), run: ended, events: [runEvent(1, ended)] });
    const next = await createdRun(store, { input: [largeText(90_000)] });
    expect(await store.getRun("owner", first.id)).toBeUndefined();
    expect(await store.getRun("owner", next.id)).toBeDefined();
    await store.close();
  });
});

describe("a SQLite store in a file whose disk is full", () => {
  it("fails the call with the path, writes nothing, and works again when there is space", async () => {
    const store = await openFile();
    const database = getDriver(store);
    const pages = Number(database.first("PRAGMA page_count")?.page_count);
    database.first(`PRAGMA max_page_count = ${pages + 5}`);
    const toCreate = creation({ input: [largeText(100_000)] });
    const failure = await store.createRun(toCreate).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ServerError);
    expect(failure).toMatchObject({
      message: expect.stringMatching(/run store .*runs\.db: there is no space left/),
    });
    expect(await store.getRun("owner", toCreate.run.id)).toBeUndefined();
    database.first("PRAGMA max_page_count = 100000");
    expect((await store.createRun(toCreate)).case).toBe("created");
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

describe("a page of large messages", () => {
  it("ends early", async () => {
    const store = await openMemory({}, 64 * MEBIBYTE);
    expect(await pagesOfLargeMessages(store)).toEqual([1, 1, 1]);
    await store.close();
  });
});
