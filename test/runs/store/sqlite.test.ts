/** The driver of SQLite, with statements of the tests. */
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { InternalError, ServerError } from "../../../src/core/errors.ts";
import { StoreFullError } from "../../../src/runs/errors.ts";
import { definePage } from "../../../src/runs/store/driver.ts";
import { SqliteDriver } from "../../../src/runs/store/sqlite.ts";
import type { SqliteLocation } from "../../../src/runs/store/sqlite-file.ts";
import { newPath } from "./sqlite/open-store.ts";

const MEBIBYTE = 1024 * 1024;
const INSERT = "INSERT INTO :schema.key_checks (key_id, body) VALUES ($1, $2)";
const COUNT = "SELECT count(*) AS rows FROM :schema.key_checks";

/** Opens a driver, by default over a new file. */
async function open(location: SqliteLocation = { kind: "file", path: newPath() }): Promise<SqliteDriver> {
  const driver = await SqliteDriver.open(location, () => {});
  onTestFinished(() => driver.close());
  return driver;
}

const inMemory = (maxBytes = 64 * MEBIBYTE) => open({ kind: "memory", maxBytes });

const insert = (id: string, bytes = 10) => ({ text: INSERT, values: [id, new Uint8Array(bytes)] });

async function count(driver: SqliteDriver): Promise<number> {
  const [row] = await driver.read<{ rows: number }>(COUNT, []);
  return row?.rows ?? 0;
}

/** Counts the transactions that are begun from then on. */
function countTransactions(): () => number {
  const { prepare } = DatabaseSync.prototype;
  let begun = 0;
  // The statement is prepared once, and executed for each transaction.
  const spy = vi.spyOn(DatabaseSync.prototype, "prepare").mockImplementation(function (
    this: DatabaseSync,
    sql,
  ) {
    const statement = prepare.call(this, sql);
    if (sql !== "BEGIN IMMEDIATE") return statement;
    const { run } = statement;
    statement.run = () => {
      begun += 1;
      return Reflect.apply(run, statement, []);
    };
    return statement;
  });
  onTestFinished(() => spy.mockRestore());
  return () => begun;
}

describe("a page of rows", () => {
  const page = definePage("key_id", "body", "FROM :schema.key_checks ORDER BY key_id", "key_id");

  async function readPage(driver: SqliteDriver, maxBytes: number) {
    const { rows, hasMore } = await driver.readPage<{ key_id: string; body: Uint8Array }>(page, [], maxBytes);
    return { ids: rows.map(({ key_id }) => key_id).join(""), hasMore };
  }

  it("has as many as fit, and always the first", async () => {
    const driver = await inMemory();
    expect(await readPage(driver, 100)).toEqual({ ids: "", hasMore: false });
    await driver.batch([insert("a"), insert("b"), insert("c")], "any");
    expect(await readPage(driver, 30)).toEqual({ ids: "abc", hasMore: false });
    expect(await readPage(driver, 29)).toEqual({ ids: "ab", hasMore: true });
    expect(await readPage(driver, 20)).toEqual({ ids: "ab", hasMore: true });
    expect(await readPage(driver, 19)).toEqual({ ids: "a", hasMore: true });
    expect(await readPage(driver, 1)).toEqual({ ids: "a", hasMore: true });
  });

  it("has no more if its only row is too large", async () => {
    const driver = await inMemory();
    await driver.batch([insert("a", 1000)], "any");
    expect(await readPage(driver, 1)).toEqual({ ids: "a", hasMore: false });
  });
});

describe("the answers to statements", () => {
  it("are the rows of those that have some, and the number of changes of others", async () => {
    const driver = await inMemory();
    const answers = await driver.batch(
      [
        insert("a"),
        insert("b"),
        { text: "SELECT key_id FROM :schema.key_checks ORDER BY key_id", values: [] },
        { text: "SELECT 1", values: [], onlyLocks: true },
        { text: "UPDATE :schema.key_checks SET body = $1", values: [new Uint8Array(1)] },
        { text: "DELETE FROM :schema.key_checks WHERE key_id = :any_text($1)", values: [["a", "x"]] },
        { text: "DELETE FROM :schema.key_checks RETURNING key_id", values: [] },
      ],
      "any",
    );
    expect(answers.map(({ changes }) => changes)).toEqual([1, 1, 2, 0, 2, 1, 1]);
    expect(answers.map(({ rows }) => rows.length)).toEqual([0, 0, 2, 0, 0, 0, 1]);
  });

  it("come from statements that are prepared once", async () => {
    const driver = await inMemory();
    await driver.batch([insert("a")], "any");
    const before = driver.statements.size;
    for (const id of ["b", "c"]) await driver.batch([insert(id)], "any");
    expect(driver.statements.size).toBe(before);
  });

  it("leave no large body behind, and small ones alone", async () => {
    const driver = await inMemory();
    await driver.batch([{ text: INSERT, values: ["large", new Uint8Array(64 * 1024 + 1)] }], "any");
    expect(driver.statements.get(INSERT)?.length).toBeLessThan(1000);
    await driver.batch([{ text: INSERT, values: ["small", new Uint8Array(64 * 1024)] }], "any");
    expect(driver.statements.get(INSERT)?.length).toBeGreaterThan(64 * 1024);
  });
});

describe("a batch", () => {
  it.each(["a file", "memory"])("changes nothing if one of its statements is refused (%s)", async (place) => {
    const driver = place === "memory" ? await inMemory() : await open();
    const refused = driver.batch([insert("a"), insert("a")], "any");
    await expect(refused).rejects.toBeInstanceOf(InternalError);
    await expect(refused).rejects.toThrow("the run store refused a row");
    expect(await count(driver)).toBe(0);
    await driver.batch([insert("a")], "any");
    expect(await count(driver)).toBe(1);
  });

  it("to a file is committed at the end of the turn, with the others", async () => {
    const getTransactions = countTransactions();
    const driver = await open();
    const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
    onTestFinished(() => clock.mockRestore());
    const before = getTransactions();
    await Promise.all(Array.from({ length: 5 }, (_, index) => driver.batch([insert(`${index}`)], "any")));
    expect(getTransactions() - before).toBe(1);
    await driver.batch([insert("alone")], "any");
    // One statement is a transaction by itself.
    expect(getTransactions() - before).toBe(1);
    await driver.batch([insert("x"), insert("y")], "any");
    expect(getTransactions() - before).toBe(2);
    expect(await count(driver)).toBe(8);
  });

  it("waits for the next turn if those before it take more than ten milliseconds", async () => {
    const driver = await open();
    await driver.batch([insert("first")], "any");
    const { now } = performance;
    let time = now.call(performance);
    // Each look at the clock finds that four milliseconds have passed.
    const clock = vi.spyOn(performance, "now").mockImplementation(() => {
      time += 4;
      return time;
    });
    onTestFinished(() => clock.mockRestore());
    const done: string[] = [];
    let turns = 0;
    const countTurns = () => {
      turns += 1;
      if (done.length < 9) setImmediate(countTurns);
    };
    const batches = Array.from({ length: 9 }, (_, index) =>
      driver.batch([insert(`${index}`)], "any").then(() => done.push(`${index}`)),
    );
    setImmediate(countTurns);
    await Promise.all(batches);
    expect(done).toEqual(["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
    expect(turns).toBeGreaterThanOrEqual(2);
    expect(turns).toBeLessThan(6);
  });

  it("waits for the end of a transaction, and reads do as well", async () => {
    for (const driver of [await open(), await inMemory()]) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const order: string[] = [];
      const transaction = driver.transaction("any", async ({ query }) => {
        await query(INSERT, ["a", new Uint8Array(1)]);
        await promise;
        order.push("transaction");
      });
      const others = [
        driver.batch([insert("b")], "any").then(() => order.push("batch")),
        count(driver).then((rows) => order.push(`read ${rows > 0}`)),
        driver.transaction("any", async () => void order.push("second")),
      ];
      for (let turn = 0; turn < 5; turn += 1) await new Promise((next) => setImmediate(next));
      expect(order).toEqual([]);
      resolve();
      await Promise.all([transaction, ...others]);
      expect(order[0]).toBe("transaction");
      expect(order).toContain("read true");
      expect(order).toHaveLength(4);
    }
  });
});

describe("a transaction", () => {
  it("is rolled back if its work fails, and others continue", async () => {
    const driver = await open();
    const failed = driver.transaction("any", async ({ query }) => {
      await query(INSERT, ["a", new Uint8Array(1)]);
      throw new ServerError("a failure of the test");
    });
    await expect(failed).rejects.toThrow("a failure of the test");
    expect(await count(driver)).toBe(0);
    expect(await driver.transaction("any", async () => "done")).toBe("done");
  });

  it("ends before the driver is closed", async () => {
    const path = newPath();
    const driver = await SqliteDriver.open({ kind: "file", path }, () => {});
    const { promise, resolve } = Promise.withResolvers<void>();
    const transaction = driver.transaction("any", async ({ query }) => {
      await query(INSERT, ["a", new Uint8Array(1)]);
      await promise;
    });
    const batch = driver.batch([insert("b")], "any");
    const closed = driver.close();
    resolve();
    await Promise.all([transaction, batch, closed]);
    expect(await count(await open({ kind: "file", path }))).toBe(2);
  });
});

describe("a database in memory with a limit", () => {
  it("says what it uses, and of which setting the limit is", async () => {
    const driver = await inMemory(MEBIBYTE);
    expect(driver.space).toMatchObject({ maxBytes: MEBIBYTE, setting: "runs.memory_size", evicts: true });
    const before = driver.space?.usedBytes() ?? 0;
    expect(before % 4096).toBe(0);
    expect(before).toBeGreaterThan(0);
    await driver.batch([insert("a", 100_000)], "any");
    const used = (driver.space?.usedBytes() ?? 0) - before;
    expect(used).toBeGreaterThan(95_000);
    expect(used).toBeLessThan(110_000);
    await driver.batch([{ text: "DELETE FROM :schema.key_checks", values: [] }], "any");
    expect(driver.space?.usedBytes()).toBeLessThanOrEqual(before + 4096);
  });

  it.each([
    ["create", 7 / 8],
    ["append", 15 / 16],
    ["end", 63 / 64],
    ["any", 1],
  ] as const)("is used up to its share by %s", async (use, share) => {
    const driver = await inMemory(MEBIBYTE);
    let rows = 0;
    const fill = async () => {
      for (;;) {
        await driver.batch([insert(`${rows}`, 3000), insert(`${rows}+`, 3000)], use);
        rows += 1;
      }
    };
    await expect(fill()).rejects.toMatchObject({
      message: "the store of runs has no space left; raise runs.memory_size",
      missingBytes: expect.toSatisfy((bytes: number) => bytes > 0 && bytes <= MEBIBYTE / 8),
    });
    expect(await count(driver)).toBe(2 * rows);
    const used = driver.space?.usedBytes() ?? 0;
    expect(used).toBeLessThanOrEqual(MEBIBYTE * share);
    expect(used).toBeGreaterThan(MEBIBYTE * share - 20_000);
    await expect(driver.batch([insert("more", 30_000)], use)).rejects.toBeInstanceOf(StoreFullError);
    await driver.batch([{ text: "DELETE FROM :schema.key_checks", values: [] }], "any");
    await driver.batch([insert("again", 30_000)], use);
  });

  it("refuses a transaction that uses more than its share, and changes nothing", async () => {
    const driver = await inMemory(MEBIBYTE);
    const write = (bytes: number) =>
      driver.transaction("create", ({ query }) => query(INSERT, [`${bytes}`, new Uint8Array(bytes)]));
    await expect(write(950_000)).rejects.toBeInstanceOf(StoreFullError);
    expect(await count(driver)).toBe(0);
    await write(500_000);
    expect(await count(driver)).toBe(1);
  });
});

describe("a file", () => {
  it("has no limit unless there is a setting, which does not remove anything", async () => {
    expect((await open()).space).toBeUndefined();
    const limited = await open({ kind: "file", path: newPath(), maxBytes: MEBIBYTE });
    expect(limited.space).toMatchObject({ setting: "runs.max_file_size", evicts: false });
  });

  it("shrinks a while after rows were deleted, to a mebibyte of free pages, in steps with pauses", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const path = newPath();
    const driver = await open({ kind: "file", path });
    const rows = Array.from({ length: 300 }, (_, index) => insert(`${index}`, 20_000));
    await driver.batch(rows, "any");
    await driver.batch([{ text: "DELETE FROM :schema.key_checks", values: [] }], "any");
    const countFree = async () => {
      const [row] = await driver.read<{ freelist_count: number }>("PRAGMA freelist_count", []);
      return row?.freelist_count ?? 0;
    };
    const before = await countFree();
    expect(before).toBeGreaterThan(1000);
    driver.shrink();
    driver.shrink();
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(199);
    expect(await countFree()).toBe(before);
    await vi.advanceTimersByTimeAsync(10_000);
    const after = await countFree();
    expect(after).toBeLessThanOrEqual(256);
    expect(after).toBeGreaterThan(256 - 33);
    expect(vi.getTimerCount()).toBe(0);
    expect(statSync(path).size).toBeGreaterThan(0);
  });

  it("does not shrink during a transaction, but after it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const driver = await SqliteDriver.open({ kind: "file", path: newPath() }, () => {});
    const rows = Array.from({ length: 300 }, (_, index) => insert(`${index}`, 20_000));
    await driver.batch(rows, "any");
    await driver.batch([{ text: "DELETE FROM :schema.key_checks", values: [] }], "any");
    const { promise, resolve } = Promise.withResolvers<void>();
    const transaction = driver.transaction("any", () => promise);
    driver.shrink();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(vi.getTimerCount()).toBe(1);
    resolve();
    await transaction;
    await vi.advanceTimersByTimeAsync(10_000);
    const [row] = await driver.read<{ freelist_count: number }>("PRAGMA freelist_count", []);
    expect(row?.freelist_count).toBeLessThanOrEqual(256);
    driver.shrink();
    await driver.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is a database in memory that never shrinks", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    (await inMemory()).shrink();
    expect(vi.getTimerCount()).toBe(0);
  });
});
