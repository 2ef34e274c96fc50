import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { StoreFullError } from "../../../../src/runs/errors.ts";
import { createdRun, creation, getHold, textEvent } from "../../contract/data.ts";
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

  it("can be read by other programs when they are acknowledged", async () => {
    const { store, count } = await openBoth();
    const runs = await Promise.all(Array.from({ length: RUNS }, () => createdRun(store)));
    expect(count("runs")).toBe(RUNS);
    const writes = runs.map(async ({ id }) => {
      expect(await store.write({ hold: getHold(id), events: [textEvent(1, "text")] })).toBe(true);
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
