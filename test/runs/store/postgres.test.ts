/** The driver of PostgreSQL, over connections that the tests play. */
import { DatabaseError } from "pg";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { openPostgresStore, type PostgresStoreOptions } from "../../../src/runs/store/postgres.ts";
import { migrations } from "../../../src/runs/store/schema.ts";
import { createdRun, getClaim, message, textEvent, thread } from "../contract/data.ts";

interface Query {
  readonly text: string;
  readonly name?: string;
  readonly values?: readonly unknown[];
}

interface Answer {
  readonly rows: readonly object[];
  readonly rowCount?: number | null;
}

const fake = vi.hoisted(() => ({
  /** All statements, with the number of connections of their pool. */
  sent: [] as (Query & { readonly pool: number })[],
  pools: [] as { readonly url: string; readonly max: number; ended: number }[],
  listeners: [] as string[],
  answer: undefined as ((query: Query) => Answer | undefined) | undefined,
}));

vi.mock("pg", async (importOriginal) => {
  const { EventEmitter } = await import("node:events");
  class Pool extends EventEmitter {
    readonly #made: { readonly url: string; readonly max: number; ended: number };

    constructor({ connectionString, max }: { connectionString: string; max: number }) {
      super();
      this.#made = { url: connectionString, max, ended: 0 };
      fake.pools.push(this.#made);
    }

    async connect() {
      const pool = this.#made.max;
      const query = async (asked: string | Query, values: readonly unknown[] = []) => {
        const sent = typeof asked === "string" ? { text: asked, values } : asked;
        fake.sent.push({ ...sent, pool });
        const answer = fake.answer?.(sent);
        if (answer !== undefined) return answer;
        if (sent.text.includes("to_regclass")) return { rows: [{ found: true }] };
        if (sent.text.includes("max(number)")) return { rows: [{ version: 1 }] };
        return { rows: [], rowCount: 1 };
      };
      return Object.assign(new EventEmitter(), { query, release: () => {} });
    }

    async end() {
      this.#made.ended += 1;
    }
  }
  class Client extends EventEmitter {
    constructor({ connectionString }: { connectionString: string }) {
      super();
      if (connectionString.includes("invalid"))
        throw Object.assign(new Error("x"), { code: "ERR_INVALID_URL" });
      fake.listeners.push(connectionString);
    }

    async connect() {}
    async query(text: string) {
      fake.listeners.push(text);
    }
    async end() {}
  }
  return { ...(await importOriginal<object>()), Pool, Client };
});

const URL = "postgres://u:secret@db/runs";

function open(options: Partial<PostgresStoreOptions> = {}) {
  return openPostgresStore({ url: URL, maxBodyBytes: 1_000_000, onProblem: () => {}, ...options });
}

/** A failure that the server reports. */
function failure(code: string): DatabaseError {
  return Object.assign(new DatabaseError("failed", 1, "error"), { code, severity: "ERROR" });
}

beforeEach(() => {
  fake.sent = [];
  fake.pools = [];
  fake.listeners = [];
  fake.answer = undefined;
});

describe("the connections of a store in PostgreSQL", () => {
  it.each([
    [undefined, [8, 2]],
    [1, [1]],
    [2, [1, 1]],
    [3, [2, 1]],
    [8, [6, 2]],
    [100, [75, 25]],
  ])("of a pool of %s are shared by runs and by callers that read", async (poolSize, sizes) => {
    const store = await open({ poolSize });
    expect(fake.pools.map(({ max }) => max)).toEqual(sizes);
    await store.close();
    expect(fake.pools.map(({ ended }) => ended)).toEqual(sizes.map(() => 1));
  });

  it("read for callers with some, and for runs with the others", async () => {
    const store = await open({ poolSize: 8 });
    const countBy = async (call: () => Promise<unknown>) => {
      fake.sent = [];
      await call().catch(() => undefined);
      return [...new Set(fake.sent.map(({ pool }) => pool))];
    };
    expect(await countBy(() => store.getRun("", "run_x"))).toEqual([2]);
    expect(await countBy(() => store.readEvents("run_x", 0, 10))).toEqual([2]);
    expect(await countBy(() => store.getThread("", "thread_x"))).toEqual([2]);
    expect(await countBy(() => store.readSteps("run_x"))).toEqual([6]);
    expect(await countBy(() => store.readHistory("run_x"))).toEqual([6]);
    expect(await countBy(() => store.countQueued(""))).toEqual([6]);
    expect(await countBy(() => store.requestCancel("", "run_x"))).toEqual([6]);
    expect(await countBy(() => store.deleteThread("", "thread_x"))).toEqual([6]);
    await store.close();
  });

  it("listen to the channel of the schema, with another URL if there is one", async () => {
    const store = await open({ listenUrl: "postgres://u:secret@listen/runs", schema: "other" });
    expect(fake.listeners).toContain("postgres://u:secret@listen/runs");
    expect(fake.listeners).toContain('LISTEN "other_runs"');
    expect(fake.pools.map(({ url }) => url)).toEqual([URL, URL]);
    await store.close();
    fake.listeners = [];
    await (await open()).close();
    expect(fake.listeners).toContain('LISTEN "outrigger_runs"');
  });
});

describe("the options of a store in PostgreSQL", () => {
  it.each([
    [{ url: "mysql://u:secret@db/runs" }, "it does not begin with postgres://"],
    [{ listenUrl: "http://u:secret@db/runs" }, "it does not begin with postgres://"],
    [{ url: "mysql://u:secret@db/runs", listenUrl: URL }, "it does not begin with postgres://"],
    [{ url: "postgres://u:secret@invalid" }, "ERR_INVALID_URL"],
  ])("are refused without the password if a URL is wrong: %o", async (options, reason) => {
    const refused = await open(options).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigurationError);
    expect(String(refused)).toContain(reason);
    expect(String(refused)).not.toContain("secret");
    expect(fake.sent).toEqual([]);
  });

  it("are a URL with either name of the scheme", async () => {
    await (await open({ url: "postgresql://u@db/runs" })).close();
  });

  it.each(["", "Upper", "1st", "a-b", "a".repeat(41), "a;DROP"])(
    "are refused with the schema %s",
    async (schema) => {
      await expect(open({ schema })).rejects.toThrow(`found "${schema}"`);
    },
  );

  it.each(["a", "_a1", "a".repeat(40)])("may name the schema %s", async (schema) => {
    const store = await open({ schema });
    await store.getRun("", "run_x");
    expect(fake.sent.at(-1)?.text).toContain(`FROM ${schema}.runs`);
    await store.close();
  });

  it("are refused if a newer version has changed the schema, and all connections are closed", async () => {
    fake.answer = ({ text }) =>
      text.includes("max(number)") ? { rows: [{ version: migrations.length + 1 }] } : undefined;
    await expect(open()).rejects.toThrow(`has version ${migrations.length + 1}`);
    expect(fake.pools.map(({ ended }) => ended)).toEqual([1, 1]);
  });
});

describe("the schema", () => {
  it("is created once, under a lock, with its migrations in order", async () => {
    fake.answer = ({ text }) => (text.includes("to_regclass") ? { rows: [{ found: false }] } : undefined);
    const store = await open({ schema: "fresh" });
    const texts = fake.sent.map(({ text }) => text);
    const at = (part: string) => texts.findIndex((text) => text.includes(part));
    const order = [
      "BEGIN",
      "pg_advisory_xact_lock",
      "CREATE SCHEMA IF NOT EXISTS fresh",
      "CREATE TABLE fresh.migrations",
      "CREATE TABLE fresh.runs",
      "INSERT INTO fresh.migrations",
      "COMMIT",
    ].map(at);
    expect(order.every((index) => index >= 0)).toBe(true);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(texts.join("\n")).not.toMatch(
      /:schema|:identity|:bytes|:table|:keyed_table|:updated_table|:long\b|:id\b/,
    );
    expect(fake.sent.find(({ text }) => text.includes("INSERT INTO fresh.migrations"))?.values).toEqual([1]);
    expect(fake.sent.find(({ text }) => text.includes("advisory"))?.values).toEqual(["outrigger fresh"]);
    await store.close();
  });

  it("is not created if an administrator has done so", async () => {
    fake.answer = ({ text }) => {
      if (text.includes("to_regclass")) return { rows: [{ found: false }] };
      return text.includes("pg_namespace") ? { rows: [{}] } : undefined;
    };
    await (await open()).close();
    expect(fake.sent.some(({ text }) => text.includes("CREATE SCHEMA"))).toBe(false);
  });

  it("is left as it was if a migration fails", async () => {
    fake.answer = ({ text }) => {
      if (text.includes("to_regclass")) return { rows: [{ found: false }] };
      if (text.includes("CREATE TABLE outrigger.runs")) throw failure("42501");
      return undefined;
    };
    await expect(open()).rejects.toThrow("lacks rights");
    expect(fake.sent.at(-1)?.text).toBe("ROLLBACK");
  });

  it("needs no transaction if it is there", async () => {
    await (await open()).close();
    expect(fake.sent.some(({ text }) => text === "BEGIN")).toBe(false);
  });
});

describe("the statements", () => {
  it("are prepared under a name of their text, and have no placeholder", async () => {
    const store = await open();
    await store.getRun("owner", "run_x");
    await store.getRun("owner", "run_y");
    await store.claimAbandoned({ id: "p", timeoutMs: 1 }, ["run_a"], 5);
    await store.claimQueued({ id: "p", timeoutMs: 1 }, 5, ["a"]);
    await store.renewLease({ id: "p", timeoutMs: 1 });
    const [first, second] = fake.sent.filter(({ values }) => values?.[1] === "owner");
    expect(first?.name).toMatch(/^outrigger_[0-9a-f]{40}$/);
    expect([second?.name, second?.text]).toEqual([first?.name, first?.text]);
    const names = new Map(fake.sent.flatMap(({ name, text }) => (name === undefined ? [] : [[name, text]])));
    expect(new Set(names.values()).size).toBe(names.size);
    for (const text of names.values())
      expect(text).not.toMatch(/:[a-z]+_?[a-z]*(?<!::bigint|::text)\b(?!\[)/);
    const queued = fake.sent.find(({ values }) =>
      values?.some((value) => Array.isArray(value) && value[0] === "a"),
    );
    expect(queued?.text).toContain("ANY ($3::text[])");
    expect(queued?.text).toContain("FOR UPDATE SKIP LOCKED");
    await store.close();
  });

  it("have no NUL, which PostgreSQL has no text with", async () => {
    const store = await open();
    await store.getRun("a\0b\0", "run_x");
    expect(fake.sent.at(-1)?.values).toEqual(["run_x", "a\ufffdb\ufffd"]);
    await store.close();
  });

  it("of a batch are sent as one transaction, and a single one as it is", async () => {
    const store = await open();
    fake.sent = [];
    await store.createThread("", thread(), [message("a")]);
    const texts = fake.sent.map(({ text }) => text.trim().split(" ")[0]);
    expect(texts).toEqual(["BEGIN", "INSERT", "INSERT", "INSERT", "COMMIT"]);
    fake.sent = [];
    await store.releaseLease({ id: "p", timeoutMs: 1 });
    expect(fake.sent.map(({ text }) => text.split(" ")[0])).toEqual(["DELETE"]);
    await store.close();
  });

  it("change as many rows as the server says", async () => {
    const store = await open();
    fake.answer = ({ text }) =>
      text.includes("UPDATE outrigger.threads") ? { rows: [], rowCount: 0 } : undefined;
    expect(await store.updateThread("", thread())).toBe(false);
    fake.answer = ({ text }) =>
      text.includes("UPDATE outrigger.threads") ? { rows: [], rowCount: null } : undefined;
    expect(await store.updateThread("", thread())).toBe(false);
    fake.answer = undefined;
    expect(await store.updateThread("", thread())).toBe(true);
    await store.close();
  });
});

describe("a transaction", () => {
  it("that others disturb is tried five times", async () => {
    const store = await open();
    let tries = 0;
    fake.answer = ({ text }) => {
      if (!text.includes("FROM outrigger.threads WHERE id")) return undefined;
      tries += 1;
      throw failure("40P01");
    };
    fake.sent = [];
    await expect(store.deleteThread("", "thread_x")).rejects.toThrow("too busy (SQLSTATE 40P01)");
    expect(tries).toBe(5);
    expect(fake.sent.filter(({ text }) => text === "ROLLBACK")).toHaveLength(5);
    tries = 0;
    fake.answer = ({ text }) => {
      if (!text.includes("FROM outrigger.threads WHERE id")) return undefined;
      tries += 1;
      if (tries < 5) throw failure("40001");
      return { rows: [] };
    };
    expect(await store.deleteThread("", "thread_x")).toBe(false);
    await store.close();
  });

  it("that fails otherwise is tried once, and rolled back", async () => {
    const store = await open();
    let tries = 0;
    fake.answer = ({ text }) => {
      if (!text.includes("FROM outrigger.threads WHERE id")) return undefined;
      tries += 1;
      throw failure("42501");
    };
    fake.sent = [];
    await expect(store.deleteThread("", "thread_x")).rejects.toThrow("lacks rights");
    expect(tries).toBe(1);
    expect(fake.sent.map(({ text }) => text).filter((text) => text.length < 10)).toEqual([
      "BEGIN",
      "ROLLBACK",
    ]);
    await store.close();
  });

  it("fails with what the first of its statements failed with", async () => {
    const store = await open();
    fake.answer = ({ text }) => {
      if (text.includes("INSERT INTO outrigger.messages")) throw failure("42501");
      if (text === "COMMIT") throw failure("XX000");
      return undefined;
    };
    await expect(store.createThread("", thread(), [message("a")])).rejects.toThrow("lacks rights");
    await store.close();
  });
});

describe("a page", () => {
  it("is measured by the server, and has more if that counts more rows", async () => {
    const store = await open();
    const made = await (async () => {
      fake.answer = ({ text }) => (text.endsWith("RETURNING number") ? { rows: [{ number: 1 }] } : undefined);
      return createdRun(store);
    })();
    expect(made.status).toBe(RunStatus.IN_PROGRESS);
    const query = { threadId: "thread_x", order: "oldest first", after: "", limit: 5 } as const;
    fake.answer = ({ text }) =>
      text.includes("octet_length")
        ? { rows: [{ id: "msg_a", body: Buffer.from([0]), total: 2 }] }
        : undefined;
    expect(await store.listMessages("", query)).toMatchObject({ elements: [{}], hasMore: true });
    expect(fake.sent.at(-1)?.text).toContain("<= 4194304");
    fake.answer = ({ text }) =>
      text.includes("octet_length")
        ? { rows: [{ id: "msg_a", body: Buffer.from([0]), total: 1 }] }
        : undefined;
    expect(await store.listMessages("", query)).toMatchObject({ elements: [{}], hasMore: false });
    fake.answer = undefined;
    expect(await store.listMessages("", query)).toEqual({ elements: [], hasMore: false });
    expect(await store.write({ claim: getClaim(made.id), events: [textEvent(1, "x")] })).toBe(true);
    await store.close();
  });
});
