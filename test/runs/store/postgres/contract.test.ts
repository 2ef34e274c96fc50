import { afterAll, describe, expect, it } from "vitest";
import { openPostgresStore } from "../../../../src/runs/store/postgres.ts";
import { Postgres } from "../../../support/postgres/start-postgres.ts";
import { describeRunStore } from "../../store-contract.ts";

const postgres = await Postgres.start();
/** The errors in the background. */
const problems: unknown[] = [];
afterAll(async () => {
  await postgres?.stop();
  expect(problems.map(String).filter((problem) => !problem.includes("a failure of the test"))).toEqual([]);
});

const TABLES = ["runs", "threads", "messages", "thread_messages", "requests", "steps", "events"];

if (postgres === undefined) {
  describe("a PostgreSQL store", () => {
    it.skip("is not tested: no PostgreSQL was found, see CONTRIBUTING.md");
  });
} else {
  const open = () =>
    openPostgresStore({
      url: postgres.url(),
      maxBodyBytes: 16 * 1024 * 1024,
      onProblem: (problem) => problems.push(problem),
    });
  describeRunStore("a PostgreSQL store", {
    open: async () => {
      const store = await open();
      await postgres.query(`TRUNCATE ${TABLES.map((table) => `outrigger.${table}`).join(", ")}`);
      return store;
    },
    openAnother: open,
    countRows: async () => {
      const counts = TABLES.map((table) => `(SELECT count(*)::int FROM outrigger.${table}) AS ${table}`);
      const [row = {}] = await postgres.query(`SELECT ${counts.join(", ")}`);
      return Object.fromEntries(Object.entries(row).map(([table, count]) => [table, Number(count)]));
    },
  });
}
