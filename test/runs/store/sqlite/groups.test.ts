import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ServerError } from "../../../../src/core/errors.ts";
import { StoreFullError } from "../../../../src/runs/errors.ts";
import { createdRun, creation, getClaim, textEvent } from "../../contract/data.ts";
import { getDriver, newPath, openFile } from "./open-store.ts";

const RUNS = 10;

/** A slow machine may need several transactions for one group. The log has space for so many attempts. */
const ATTEMPTS = 3;

/** Opens a file, and a connection of another program to it. */
async function openBoth() {
  const path = newPath();
  const store = await openFile({}, path);
  const other = new DatabaseSync(path, { readOnly: true });
  onTestFinished(async () => {
    other.close();
    await store.close();
  });
  const count = (table: "runs" | "events", runId = "%") =>
    other
      .prepare(
        `SELECT count(*) AS rows FROM ${table}
        WHERE ${table === "runs" ? "number" : "run"} IN (SELECT number FROM runs WHERE id LIKE ?)`,
      )
      .get(runId)?.rows;
  return { store, count, getLogBytes: () => statSync(`${path}-wal`).size };
}

describe("writes to a SQLite file in one turn of the event loop", () => {
  it("are committed together", async () => {
    const { store, getLogBytes } = await openBoth();
    const measure = async (create: () => Promise<unknown>) => {
      const before = getLogBytes();
      await create();
      return getLogBytes() - before;
    };
    const alone = await measure(async () => {
      for (let index = 0; index < RUNS; index += 1) await createdRun(store);
    });
    const together: number[] = [];
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const creations = Array.from({ length: RUNS }, () => creation());
      together.push(await measure(() => Promise.all(creations.map((each) => store.createRun(each)))));
    }
    expect(Math.min(...together)).toBeGreaterThan(0);
    expect(Math.min(...together)).toBeLessThan(alone / 2);
  });

  it("are committed at once if they are alone in their turns", async () => {
    const { store, count } = await openBoth();
    const { id } = await createdRun(store);
    let turns = 0;
    const countTurns = () => {
      turns += 1;
      timer = setImmediate(countTurns);
    };
    let timer = setImmediate(countTurns);
    for (let sequence = 1; sequence <= RUNS; sequence += 1) {
      const before = turns;
      await store.write({ claim: getClaim(id), events: [textEvent(sequence, "text")] });
      expect(turns).toBe(before);
      expect(count("events", id)).toBe(1 + sequence);
      await new Promise((resolve) => setImmediate(resolve));
    }
    clearImmediate(timer);
  });

  it("can be read by other programs when they are acknowledged", async () => {
    const { store, count } = await openBoth();
    const runs = await Promise.all(Array.from({ length: RUNS }, () => createdRun(store)));
    expect(count("runs")).toBe(RUNS);
    const writes = runs.map(async ({ id }) => {
      expect(await store.write({ claim: getClaim(id), events: [textEvent(1, "text")] })).toBe(true);
      return count("events", id);
    });
    expect(await Promise.all(writes)).toEqual(runs.map(() => 2));
  });

  it("do not fail because one of them is refused", async () => {
    const { store, count } = await openBoth();
    const first = creation();
    const created = await Promise.allSettled(
      [first, creation(), first, creation()].map((each) => store.createRun(each)),
    );
    expect(created.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(count("runs")).toBe(3);
  });

  it("do not fail because there is no space for one of them", async () => {
    const { store, count } = await openBoth();
    const driver = getDriver(store);
    await createdRun(store);
    const [pages] = await driver.read<{ page_count: number }>("PRAGMA page_count", []);
    await driver.read(`PRAGMA max_page_count = ${(pages?.page_count ?? 0) + 4}`, []);
    const large = creation({
      run: { metadata: { large: Array.from({ length: 9000 }, Math.random).join() } },
    });
    const [small, refused, last] = await Promise.allSettled(
      [creation(), large, creation()].map((each) => store.createRun(each)),
    );
    expect(refused).toMatchObject({ status: "rejected", reason: expect.any(StoreFullError) });
    expect([small?.status, last?.status]).toEqual(["fulfilled", "fulfilled"]);
    expect(count("runs")).toBe(3);
  });

  it("are all refused if they cannot be rolled back, and later ones are committed", async () => {
    const { store, count } = await openBoth();
    const first = creation();
    const { exec } = DatabaseSync.prototype;
    let failures = 0;
    const spy = vi.spyOn(DatabaseSync.prototype, "exec").mockImplementation(function (
      this: DatabaseSync,
      sql,
    ) {
      if (sql === "ROLLBACK" && failures === 0) {
        failures += 1;
        throw Object.assign(new Error("disk I/O error"), { code: "ERR_SQLITE_ERROR", errcode: 10 });
      }
      exec.call(this, sql);
    });
    onTestFinished(() => spy.mockRestore());
    const refused = await Promise.allSettled([creation(), first, first].map((each) => store.createRun(each)));
    expect(failures).toBe(1);
    for (const result of refused) {
      expect(result).toMatchObject({ status: "rejected", reason: expect.any(ServerError) });
    }
    expect(await store.getRun("owner", first.run.id)).toBeUndefined();
    await createdRun(store);
    expect(count("runs")).toBe(1);
  });

  it("are executed before the store is closed", async () => {
    const path = newPath();
    const store = await openFile({}, path);
    const created = createdRun(store);
    const later = createdRun(store);
    // Tests wait a turn before they create a run.
    await new Promise((resolve) => setImmediate(resolve));
    await store.close();
    const again = await openFile({}, path);
    for (const { id } of await Promise.all([created, later]))
      expect(await again.getRun("owner", id)).toBeDefined();
    await again.close();
  });
});
