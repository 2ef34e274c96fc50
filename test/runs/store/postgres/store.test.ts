import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  ConfigurationError,
  InvalidRequestError,
  RateLimitError,
  SDKError,
  ServerError,
} from "../../../../src/core/errors.ts";
import { RunStatus } from "../../../../src/gen/outrigger/v1/run_pb.ts";
import { parseEncryptionKey } from "../../../../src/runs/store/body-codec.ts";
import { openPostgresStore, type PostgresStoreOptions } from "../../../../src/runs/store/postgres.ts";
import { migrations } from "../../../../src/runs/store/schema.ts";
import type { RunStore } from "../../../../src/runs/store.ts";
import { LossyPath } from "../../../support/postgres/lossy-path.ts";
import { Postgres } from "../../../support/postgres/start-postgres.ts";
import {
  createdRun,
  createHistory,
  creation,
  endedRun,
  endRun,
  getClaim,
  holder,
  message,
  otherHolder,
  pagesOfLargeMessages,
  step,
  textEvent,
  thread,
} from "../../contract/data.ts";

const found = await Postgres.start();
const maxBodyBytes = 1024 * 1024;
const opened: RunStore[] = [];
let schemas = 0;

afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});
afterAll(() => found?.stop());

describe.skipIf(found === undefined)("a store in PostgreSQL", () => {
  let postgres: Postgres;
  beforeAll(() => {
    if (found !== undefined) postgres = found;
  });

  /** Opens a store that the test closes by itself. */
  async function open(options: Partial<PostgresStoreOptions> = {}): Promise<RunStore> {
    const store = await openPostgresStore({
      url: postgres.url(),
      maxBodyBytes,
      onProblem: () => {},
      ...options,
    });
    opened.push(store);
    for (const process of [holder, otherHolder]) await store.renewLease(process);
    return store;
  }

  /** The name of a schema that no other test has. */
  function newSchema(): string {
    schemas += 1;
    return `test_${schemas}`;
  }

  /** Two processes with the same data. */
  async function openTwo(): Promise<[RunStore, RunStore]> {
    const schema = newSchema();
    return [await open({ schema }), await open({ schema })];
  }

  it("ends a page of large messages early", async () => {
    const store = await open({ schema: newSchema(), maxBodyBytes: 16 * 1024 * 1024 });
    expect(await pagesOfLargeMessages(store)).toEqual([1, 1, 1]);
  });

  describe("its schema", () => {
    it("is created once by several processes that start at the same time", async () => {
      const schema = newSchema();
      const stores = await Promise.all(Array.from({ length: 4 }, () => open({ schema })));
      const [first, second] = stores;
      if (first === undefined || second === undefined) throw new Error("expected stores");
      const run = await createdRun(first);
      expect((await second.getRun("owner", run.id))?.run).toEqual(run);
      const rows = await postgres.query(`SELECT number FROM ${schema}.migrations ORDER BY number`);
      expect(rows).toEqual(migrations.map((_, index) => ({ number: index + 1 })));
    });

    it("is refused if a newer version has changed it", async () => {
      const schema = newSchema();
      await open({ schema });
      await postgres.query(`INSERT INTO ${schema}.migrations VALUES (${migrations.length + 1}, now())`);
      const error = await open({ schema }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(String(error)).toContain(`has version ${migrations.length + 1}`);
    });

    it("needs no right to create schemas if an administrator has created them", async () => {
      const schema = newSchema();
      await postgres.query(`
        CREATE ROLE ${schema}_role LOGIN;
        CREATE SCHEMA ${schema} AUTHORIZATION ${schema}_role`);
      const store = await open({ schema, url: postgres.url("postgres", `${schema}_role`) });
      const run = await endedRun(store);
      expect((await store.getRun("owner", run.id))?.run).toEqual(run);
    });

    it("is not created by a role without rights, and the error says so", async () => {
      const schema = newSchema();
      await postgres.query(`CREATE ROLE ${schema}_role LOGIN`);
      const opening = open({ schema, url: postgres.url("postgres", `${schema}_role`) });
      await expect(opening).rejects.toThrow(/lacks rights that it needs .*42501/);
    });

    it("has a name that needs no quotes", async () => {
      for (const schema of ["", "Runs", "a-b", "a; DROP TABLE x", "1st", "x".repeat(41)]) {
        await expect(open({ schema })).rejects.toThrow(ConfigurationError);
      }
    });
  });

  describe("its address", () => {
    it("is refused without being shown if it is invalid, since it contains a password", async () => {
      const secret = "s3cret-p4ssword";
      const urls = [`mysql://u:${secret}@h/d`, `postgres://u:${secret}@h:port/d`, secret];
      const missing = `postgres://u:${secret}@h/d?sslmode=verify-full&sslrootcert=/missing/ca.pem`;
      for (const url of [...urls, missing]) {
        const error = await open({ url }).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(ConfigurationError);
        expect(getEverything(error)).not.toContain(secret);
      }
    });

    it("fails with a clear error if no server answers, and if the role or the database does not exist", async () => {
      const secret = "s3cret-p4ssword";
      const dead = `postgres://u:${secret}@127.0.0.1:1/d`;
      const urls = new Map([
        [dead, "cannot be reached (ECONNREFUSED)"],
        [postgres.url("postgres", "nobody_there"), "refused the sidecar's credentials (SQLSTATE 28000)"],
        [postgres.url("no_such_database"), "does not exist (SQLSTATE 3D000)"],
      ]);
      for (const [url, text] of urls) {
        const error = await open({ url }).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(ServerError);
        expect(String(error)).toContain(text);
        expect(getEverything(error)).not.toContain(secret);
      }
    });
  });

  describe("its notices", () => {
    it("reach other processes of events, of a cancellation and of a deletion", async () => {
      const [here, there] = await openTwo();
      const run = await createdRun(here);
      const notices: string[] = [];
      const leave = there.subscribe(run.id, (notice) => notices.push(notice));
      await here.write({ claim: getClaim(run.id), events: [textEvent(1, "x")] });
      // A poll of the database may announce a change again.
      await expect.poll(() => notices).toContain("change");
      expect(notices).not.toContain("cancel");
      await here.requestCancel("owner", run.id);
      await expect.poll(() => notices).toContain("cancel");
      const before = notices.length;
      await here.deleteRun("owner", run.id);
      await expect.poll(() => notices.slice(before)).toContain("change");
      leave();
    });

    it("are joined while many are written, and none of the events is missed", async () => {
      const [here, there] = await openTwo();
      const runs = await Promise.all(Array.from({ length: 20 }, () => createdRun(here)));
      const read = new Map(runs.map(({ id }) => [id, 0]));
      const leaves = runs.map(({ id }) =>
        there.subscribe(id, async () => {
          const events = await there.readEvents(id, read.get(id) ?? 0, 1000);
          read.set(id, Math.max(read.get(id) ?? 0, events.at(-1)?.sequence ?? 0));
        }),
      );
      const write = async (runId: string) => {
        for (let sequence = 1; sequence <= 50; sequence += 1) {
          await here.write({ claim: getClaim(runId), events: [textEvent(sequence, "x")] });
        }
      };
      await Promise.all(runs.map(({ id }) => write(id)));
      await expect.poll(() => [...read.values()]).toEqual(runs.map(() => 50));
      for (const leave of leaves) leave();
    });

    it("are made up for when the listening connection was lost", async () => {
      const [here, there] = await openTwo();
      const run = await createdRun(here);
      let notices = 0;
      const leave = there.subscribe(run.id, () => {
        notices += 1;
      });
      const listening = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
      const [before] = await postgres.query(`SELECT count(*)::int AS count FROM (${listening}) AS listening`);
      await postgres.query(`SELECT pg_terminate_backend(pid) FROM (${listening}) AS listening`);
      await here.write({ claim: getClaim(run.id), events: [textEvent(1, "x")] });
      await expect.poll(() => notices).toBeGreaterThan(0);
      const again = async () =>
        (await postgres.query(`SELECT count(*)::int AS count FROM (${listening}) AS listening`))[0];
      await expect.poll(again).toEqual(before);
      const seen = notices;
      await here.write({ claim: getClaim(run.id), events: [textEvent(2, "x")] });
      await expect.poll(() => notices).toBeGreaterThan(seen);
      leave();
    });

    it("contain no part of the written texts", async () => {
      const schema = newSchema();
      const store = await open({ schema });
      const payloads: string[] = [];
      const client = await postgres.connect();
      client.on("notification", ({ payload = "" }) => payloads.push(payload));
      await client.query(`LISTEN "${schema}_runs"`);
      const run = await endedRun(store, { input: ["a secret question"] }, RunStatus.COMPLETED, "an answer");
      await createdRun(store, { queued: true });
      await expect.poll(() => payloads.join(" ")).toContain(run.id);
      await expect.poll(() => payloads.join(" ")).toContain("queued");
      expect(payloads.join(" ")).not.toMatch(/secret|answer/);
      await client.end();
    });
  });

  describe("an outage", () => {
    it("delays writes to runs in progress, and neither loses nor repeats an event", async () => {
      const [store] = await openTwo();
      const runs = await Promise.all(Array.from({ length: 10 }, () => createdRun(store)));
      let isStopped = false;
      const write = async (runId: string) => {
        let sequence = 0;
        while (!isStopped) {
          sequence += 1;
          expect(
            await store.write({ claim: getClaim(runId), events: [textEvent(sequence, `${sequence}`)] }),
          ).toBe(true);
        }
        return sequence;
      };
      const writing = runs.map(({ id }) => write(id));
      for (let outage = 0; outage < 2; outage += 1) {
        await pause(200);
        await postgres.pause("SIGQUIT");
        const reading = store.getRun("owner", runs[0]?.id ?? "");
        // As before each creation of a background run.
        const counting = store.countQueued("owner");
        await pause(300);
        await postgres.resume();
        expect(await counting).toEqual({ owner: 0, total: 0 });
        expect((await reading)?.run.id).toBe(runs[0]?.id);
      }
      await pause(200);
      isStopped = true;
      const written = await Promise.all(writing);
      for (const [index, { id }] of runs.entries()) {
        const expected = Array.from({ length: written[index] ?? 0 }, (_, at) =>
          textEvent(at + 1, `${at + 1}`),
        );
        expect(await readAll(store, id, 0)).toEqual(expected);
        expect(expected.length).toBeGreaterThan(0);
      }
    }, 40_000);

    it("fails calls meanwhile with a clear error, and everything works afterwards without a restart", async () => {
      const [here, there] = await openTwo();
      const run = await createdRun(here);
      await postgres.pause();
      const calls = [here.getRun("owner", run.id), here.claim(run.id, holder), here.createRun(creation())];
      for (const { status, ...outcome } of await Promise.allSettled(calls)) {
        expect(status).toBe("rejected");
        expect(outcome).toMatchObject({
          reason: { retryable: true, message: expect.stringContaining("the database of runs") },
        });
      }
      await postgres.resume();
      await expect.poll(() => here.getRun("owner", run.id).catch(() => undefined)).toBeDefined();
      const queued = await createdRun(here, { queued: true });
      const [taken] = await there.claimQueued(otherHolder, 10, []);
      expect(taken?.run.id).toBe(queued.id);
      let notices = 0;
      const leave = there.subscribe(run.id, () => {
        notices += 1;
      });
      await endRun(here, run);
      await expect.poll(() => notices).toBeGreaterThan(0);
      leave();
    }, 60_000);

    it("that loses answers repeats nothing that was done already", async () => {
      const path = await LossyPath.open(postgres.folder);
      const store = await open({
        schema: newSchema(),
        url: postgres.url("postgres", "postgres", path.folder),
      });
      const toCreate = creation({ input: ["q"] });
      const result = await path.losing(() => store.createRun(toCreate), 150);
      const { run } = toCreate;
      expect(result).toEqual({ case: "created", run, forked: false, claim: getClaim(run.id) });
      const first = {
        claim: getClaim(run.id),
        events: [textEvent(1, "a"), textEvent(2, "b")],
        steps: [step("one")],
        messages: [message("a", { runId: run.id, output: true })],
      };
      expect(await path.losing(() => store.write(first), 150)).toBe(true);
      const child = creation({ previousRunId: (await endRun(store, { ...run, lastSequence: 2 })).id });
      expect(await path.losing(() => store.createRun(child), 150)).toMatchObject({
        case: "created",
        forked: false,
        run: { threadId: run.threadId },
        claim: getClaim(child.run.id),
      });
      const withoutEvents = { claim: getClaim(child.run.id), steps: [step("two")] };
      expect(await path.losing(() => store.write(withoutEvents), 150)).toBe(true);
      expect(await store.readSteps(child.run.id)).toEqual([step("two")]);
      expect((await readAll(store, run.id, 0)).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
      expect((await store.readSteps(run.id)).length).toBe(2);
      expect(await createHistory(store, child.run.id)).toEqual(["q", "a", `answer of ${run.id}`]);
      await path.close();
    }, 40_000);
  });

  it("refuses a call that waits too long for a connection as busy, and does not delay runs by readers", async () => {
    const store = await open({ schema: newSchema(), poolSize: 2 });
    const run = await createdRun(store);
    const blocker = await postgres.connect();
    await blocker.query(`BEGIN; LOCK TABLE test_${schemas}.threads IN ACCESS EXCLUSIVE MODE`);
    // One of the two connections is for readers. It waits for the lock.
    const reader = store.getThread("owner", run.threadId);
    expect(await store.write({ claim: getClaim(run.id), events: [textEvent(1, "x")] })).toBe(true);
    const creating = store.createRun(creation());
    const refused = await store
      .write({ claim: getClaim(run.id), events: [textEvent(2, "x")] })
      .catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(RateLimitError);
    expect(refused).toMatchObject({ retryAfter: 1, message: expect.stringContaining("pool_size") });
    await blocker.query("ROLLBACK");
    await blocker.end();
    expect((await reader)?.id).toBe(run.threadId);
    expect((await creating).case).toBe("created");
    expect(await store.write({ claim: getClaim(run.id), events: [textEvent(2, "x")] })).toBe(true);
  }, 30_000);

  it("finds nothing by an id with NUL, which PostgreSQL cannot claim", async () => {
    const store = await open({ schema: newSchema() });
    const id = "run_\0";
    expect(await store.getRun("owner", id)).toBeUndefined();
    expect(await store.deleteRun("owner", id)).toBe(false);
    expect(await store.getThread("owner", id)).toBeUndefined();
    expect(await store.claim(id, holder)).toBeUndefined();
    const missing = { case: "missing", field: "previous_run_id" };
    expect(await store.createRun(creation({ previousRunId: id }))).toEqual(missing);
    const query = { threadId: "", statuses: [], after: id, limit: 1 };
    await expect(store.listRuns("owner", query)).rejects.toThrow(InvalidRequestError);
  });

  it("reads no table from end to end, however much is stored", async () => {
    const schema = newSchema();
    const first = await openPostgresStore({ url: postgres.url(), maxBodyBytes, onProblem: () => {}, schema });
    const conversation = thread();
    await first.createThread("owner", conversation, [message("start")]);
    const run = await endedRun(first, { threadId: conversation.id });
    await first.close();
    await postgres.query(`
      INSERT INTO ${schema}.runs (id, owner, thread_id, status, created_ms, over_ms, cancel_requested,
        start_position, end_position, fence, body)
      SELECT 'run_' || number, 'owner', 'thread_' || number, 4, number, number, 0, 0, 0, 0, '\\x00'
      FROM generate_series(1, 30000) AS number;
      INSERT INTO ${schema}.threads (id, owner, is_conversation, next_position, used_ms, body)
      SELECT 'thread_' || number, 'owner', number % 2, 0, number, ''
      FROM generate_series(1, 30000) AS number;
      ANALYZE`);
    const before = await fullScans(schema);
    const store = await openPostgresStore({ url: postgres.url(), maxBodyBytes, onProblem: () => {}, schema });
    const page = { after: "", limit: 20 };
    const statuses = [RunStatus.IN_PROGRESS, RunStatus.FAILED];
    await store.listRuns("owner", { threadId: "", statuses: [], ...page, limit: 1 });
    await store.listRuns("owner", { threadId: "", statuses, ...page });
    await store.listRuns("owner", { threadId: conversation.id, statuses: [], ...page, after: run.id });
    await store.listMessages("owner", { threadId: conversation.id, order: "latest first", ...page });
    await createHistory(store, run.id);
    await store.countQueued("owner");
    await store.claimQueued(holder, 10, []);
    await store.findLatestRun("owner", conversation.id);
    await store.claimAbandoned(holder, [], 10);
    await store.renewLease(holder);
    await endedRun(store, { previousRunId: run.id });
    await store.appendMessages("owner", conversation.id, [message("x")]);
    await store.deleteRun("owner", run.id);
    await store.removeOld(new Date(100), 1);
    await store.close();
    expect(await fullScans(schema)).toEqual(before);
  });

  /**
   * How often the large tables were read from end to end, once all sessions of stores have ended and reported their
   * statistics.
   */
  async function fullScans(schema: string): Promise<unknown> {
    const sessions = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'outrigger'";
    await expect.poll(() => postgres.query(sessions)).toEqual([]);
    return postgres.query(
      `SELECT relname, seq_scan::int FROM pg_stat_user_tables
       WHERE schemaname = '${schema}' AND relname IN ('runs', 'threads') ORDER BY relname`,
    );
  }

  it("keeps no content that can be read if bodies are encrypted", async () => {
    const schema = newSchema();
    const keys = [parseEncryptionKey("ab".repeat(32), "key.txt")];
    const store = await open({ schema, keys });
    const run = await endedRun(store, { input: ["a secret"] }, RunStatus.COMPLETED, "a secret answer");
    expect((await store.getRun("owner", run.id))?.run).toEqual(run);
    const next = await createdRun(store, { previousRunId: run.id });
    expect(await createHistory(store, next.id)).toEqual(["a secret", "a secret answer"]);
    for (const table of ["runs", "steps", "events", "messages", "threads"]) {
      const sql = `SELECT count(*)::int AS found FROM ${schema}.${table} WHERE position('secret'::bytea IN body) > 0`;
      expect(await postgres.query(sql)).toEqual([{ found: 0 }]);
    }
  });

  it("does not open without its key, or with one if it is not encrypted", async () => {
    const key = parseEncryptionKey("ab".repeat(32), "first.key");
    const next = parseEncryptionKey("cd".repeat(32), "next.key");
    const schema = newSchema();
    const run = await endedRun(await open({ schema, keys: [key] }));
    await expect(open({ schema })).rejects.toThrow("it is encrypted, but no key is configured");
    await expect(open({ schema, keys: [next] })).rejects.toThrow("a key other than the one in next.key");
    const rotated = await open({ schema, keys: [next, key] });
    expect((await rotated.getRun("owner", run.id))?.run).toEqual(run);
    const readable = newSchema();
    await createdRun(await open({ schema: readable }));
    await expect(open({ schema: readable, keys: [key] })).rejects.toThrow("runs that are not encrypted");
  });

  it("lets one of many processes create a run in a conversation at a time", async () => {
    const schema = newSchema();
    const stores = await Promise.all([open({ schema }), open({ schema }), open({ schema })]);
    const conversation = thread();
    await stores[0]?.createThread("owner", conversation, []);
    let ended = 0;
    const work = async (store: RunStore) => {
      for (let created = 0; created < 4; ) {
        const result = await store.createRun(creation({ threadId: conversation.id, input: ["q"] }));
        if (result.case !== "created") {
          expect(result.case).toBe("busy");
          await pause(2);
          continue;
        }
        await endRun(store, result.run, RunStatus.COMPLETED, "a");
        created += 1;
        ended += 1;
      }
    };
    await Promise.all(stores.flatMap((store) => [work(store), work(store)]));
    const [store] = stores;
    if (store === undefined) throw new Error("expected a store");
    const last = await createdRun(store, { threadId: conversation.id });
    expect(ended).toBe(24);
    expect(await createHistory(store, last.id)).toEqual(
      Array.from({ length: ended }, () => ["q", "a"]).flat(),
    );
  });

  it("forks for all but one of many processes that continue the same run at the same time", async () => {
    const schema = newSchema();
    const stores = await Promise.all([open({ schema }), open({ schema }), open({ schema })]);
    const [store] = stores;
    if (store === undefined) throw new Error("expected a store");
    const root = await endedRun(store, { input: ["q"] }, RunStatus.COMPLETED, "a");
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        (stores[at % 3] ?? store).createRun(creation({ previousRunId: root.id })),
      ),
    );
    const created = results.flatMap((result) => (result.case === "created" ? [result] : []));
    expect(created.filter(({ forked }) => !forked).length).toBe(1);
    expect(new Set(created.map(({ run }) => run.threadId)).size).toBe(12);
    for (const { run } of created) expect(await createHistory(store, run.id)).toEqual(["q", "a"]);
    await Promise.all(created.map(({ run }, at) => (stores[at % 3] ?? store).deleteRun("owner", run.id)));
    await store.deleteRun("owner", root.id);
    const [left] = await postgres.query(`SELECT
      (SELECT count(*)::int FROM ${schema}.threads) AS threads,
      (SELECT count(*)::int FROM ${schema}.messages) AS messages`);
    expect(left).toEqual({ threads: 0, messages: 0 });
  });
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function readAll(store: RunStore, runId: string, after: number) {
  const events = [];
  for (let last = after; ; ) {
    const read = await store.readEvents(runId, last, 1000);
    if (read.length === 0) return events;
    events.push(...read);
    last = read.at(-1)?.sequence ?? last;
  }
}

/** All texts of an error that a log could show. */
function getEverything(thrown: unknown): string {
  const error = thrown instanceof SDKError ? JSON.stringify(thrown) : "";
  const cause = thrown instanceof Error ? String(thrown.cause) : "";
  return `${String(thrown)} ${thrown instanceof Error ? thrown.stack : ""} ${error} ${cause}`;
}
