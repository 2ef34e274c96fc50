/** Budgets that sidecars share through a real PostgreSQL. */
import { createBudget } from "outrigger";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Postgres } from "../../support/postgres/start-postgres.ts";
import { catalog, closeAfterEach, countResults, openSidecar, request } from "./support/sidecars.ts";

const postgres = await Postgres.start();

describe.skipIf(postgres === undefined)("budgets shared through PostgreSQL", () => {
  closeAfterEach();
  beforeAll(async () => {
    await postgres?.query("CREATE ROLE powerless LOGIN");
  });
  afterAll(() => postgres?.stop());

  const AMOUNT = { requests: 1, tokens: 10, nanoUsd: 0 };

  function open(changes: { url?: string; timeoutMs?: number } = {}) {
    const settings = { url: postgres?.url() ?? "", schema: "fleet", timeoutMs: 10_000, ...changes };
    return openSidecar({ postgres: settings });
  }

  async function getRow(key: string): Promise<unknown> {
    const rows = await postgres?.query(
      `SELECT requests::int, tokens::int, nano_usd::int FROM fleet.shared_budgets WHERE key = '${key}'`,
    );
    return rows?.[0];
  }

  it("are never exceeded by calls of two sidecars that start at once, and count what was used", async () => {
    const sidecars = await Promise.all([open(), open()]);
    const rule = { window: "month", requests: 50, tokens: 100_000, usd: 1, shared: true } as const;
    const clients = sidecars.map(({ stores, client }) => {
      return client([createBudget({ ...rule, store: stores.budget(rule, "exact"), catalog })]).client;
    });
    const calls = Array.from({ length: 120 }, (_, index) => clients[index % 2]?.complete(request()));
    expect(await countResults(calls)).toEqual({ ok: 50, errors: ["QuotaExceededError"] });
    await expect.poll(() => getRow("exact")).toEqual({ requests: 50, tokens: 250, nano_usd: 50 * 7_000 });
  });

  it("refuse the first call of a window if it exceeds the limit", async () => {
    const { stores } = await open();
    const store = stores.budget({ window: "day", tokens: 5, shared: "postgres" }, "large");
    expect(await store?.take(AMOUNT, { tokens: 5 })).toMatchObject({ exceeded: "tokens" });
    expect(await store?.take({ ...AMOUNT, tokens: 5 }, { tokens: 5 })).toHaveProperty("settle");
  });

  it("begin again with each window, and remove the windows before", async () => {
    const { stores } = await open();
    const rule = { window: "hour", requests: 1, shared: true } as const;
    await stores.budget(rule, "turn")?.take(AMOUNT, { requests: 1 });
    await postgres?.query("UPDATE fleet.shared_budgets SET begin_ms = 3600000 WHERE key = 'turn'");
    expect(await stores.budget(rule, "turn")?.take(AMOUNT, { requests: 1 })).toHaveProperty("settle");
    const windows = () => postgres?.query("SELECT begin_ms FROM fleet.shared_budgets WHERE key = 'turn'");
    await expect.poll(windows).toHaveLength(1);
  });

  it("are counted separately while the database is unavailable, and together again afterwards", async () => {
    const sidecar = await open();
    const store = sidecar.stores.budget({ window: "month", requests: 5, shared: true }, "away");
    await store?.take(AMOUNT, { requests: 5 });
    await postgres?.pause();
    const results = [];
    for (let call = 0; call < 5; call += 1) results.push(await store?.take(AMOUNT, { requests: 5 }));
    expect(results.map((result) => result !== undefined && "settle" in result)).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    expect(sidecar.stores.problems[0]).toMatch(
      /^shared counts: PostgreSQL at the address of its URL: .+, so each sidecar counts separately$/,
    );
    await postgres?.resume();
    await expect.poll(() => sidecar.stores.problems).toEqual([]);
    expect(await store?.take(AMOUNT, { requests: 5 })).toMatchObject({ exceeded: "requests" });
    await expect.poll(() => getRow("away")).toMatchObject({ requests: 5 });
    expect(sidecar.log.map(([message]) => message)).toEqual([
      "sharing counts with other sidecars",
      "cannot use the server of shared counts: each sidecar counts separately",
      "sharing counts with other sidecars",
    ]);
  });

  it("are unavailable while the database accepts no writes, which is reported once", async () => {
    await postgres?.query("CREATE DATABASE standby");
    const url = postgres?.url("standby") ?? "";
    await (await open({ url })).stores.close();
    await postgres?.query("ALTER DATABASE standby SET default_transaction_read_only = on");
    const sidecar = await open({ url });
    const store = sidecar.stores.budget({ window: "month", requests: 5, shared: true }, "standby");
    for (let call = 0; call < 3; call += 1) {
      expect(await store?.take(AMOUNT, { requests: 5 })).toHaveProperty("settle");
      expect(sidecar.stores.problems[0]).toContain("it is read-only (SQLSTATE 25006)");
    }
    expect(sidecar.log.map(([message]) => message)).toEqual([
      "cannot use the server of shared counts: each sidecar counts separately",
    ]);
  });

  it("name a role without rights and a database that does not exist, without texts of the server", async () => {
    const powerless = await openSidecar({
      postgres: { url: postgres?.url("postgres", "powerless") ?? "", schema: "closed", timeoutMs: 10_000 },
    });
    expect(powerless.stores.problems[0]).toContain("lacks rights on the schema");
    await (await open()).stores.close();
    await postgres?.query("GRANT USAGE ON SCHEMA fleet TO powerless");
    await postgres?.query("GRANT SELECT, INSERT, UPDATE, DELETE ON fleet.shared_budgets TO powerless");
    // Enough for a table that is there already.
    const enough = await open({ url: postgres?.url("postgres", "powerless") ?? "" });
    expect(enough.stores.problems).toEqual([]);
    const missing = await open({ url: postgres?.url("nowhere") ?? "" });
    expect(missing.stores.problems[0]).toContain("the database does not exist (SQLSTATE 3D000)");
  });
});
