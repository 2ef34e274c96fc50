import { hash } from "node:crypto";
import { Client, type ClientBase, type PoolClient } from "pg";
import { ConfigurationError } from "../../core/errors.ts";
import {
  type Answer,
  type BodyRow,
  type Call,
  type Driver,
  type FirstRows,
  type PageText,
  type Queries,
  type Reader,
  replaceWords,
  type SpaceUse,
  type Value,
} from "./driver.ts";
import { openStore, type StoreOptions } from "./open-store.ts";
import { Connections, createConnectionSettings, isRepeatable, toStoreError } from "./postgres-connections.ts";
import { PostgresNotices } from "./postgres-notices.ts";
import type { SqlRunStore } from "./run-store.ts";
import { migrations } from "./schema.ts";

/** Options of a store in PostgreSQL. */
export interface PostgresStoreOptions extends StoreOptions {
  /** Connection string: `postgres://user:password@host:5432/database?sslmode=verify-full`. */
  readonly url: string;
  /** Connection string for LISTEN, if `url` leads to a pooler that has no sessions. Default `url`. */
  readonly listenUrl?: string | undefined;
  /** Schema of the tables. Default `outrigger`. */
  readonly schema?: string | undefined;
  /** Maximum number of connections for statements; one more listens. Default 10. */
  readonly poolSize?: number | undefined;
}

const DEFAULT_SCHEMA = "outrigger";
const DEFAULT_POOL_SIZE = 10;

/** The share of the connections that callers read with, so that readers never delay runs. */
const READING_SHARE = 1 / 4;

/** Names that need no quotes, with room for derived ones. */
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,39}$/;

/** Maximum number of attempts for a transaction that conflicts with others. */
const MAX_ATTEMPTS = 5;

/**
 * Opens a store in a PostgreSQL database, for several sidecars.
 * @throws ConfigurationError if an option is wrong or a newer program has changed the schema; ServerError if the
 *   database cannot be reached.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<SqlRunStore> {
  const driver = await PostgresDriver.open(options);
  return openStore(driver, options, `in the schema "${driver.schema}"`);
}

class PostgresDriver implements Driver {
  readonly isShared = true;
  readonly space = undefined;
  readonly schema: string;
  readonly notices: PostgresNotices;
  readonly #connections: Connections;
  /** Connections for callers that read. The same as `#connections` if there is only one. */
  readonly #reading: Connections;
  /** Names and translated texts of prepared statements, by the original texts. */
  readonly #prepared = new Map<string, { readonly name: string; readonly text: string }>();

  private constructor({ url, listenUrl = url, schema = DEFAULT_SCHEMA, poolSize }: PostgresStoreOptions) {
    this.schema = schema;
    const size = poolSize ?? DEFAULT_POOL_SIZE;
    const reading = size === 1 ? 0 : Math.max(1, Math.floor(size * READING_SHARE));
    this.#connections = new Connections(url, size - reading);
    this.#reading = reading === 0 ? this.#connections : new Connections(url, reading);
    this.notices = new PostgresNotices(this, listenUrl, `${schema}_runs`);
  }

  static async open(options: PostgresStoreOptions): Promise<PostgresDriver> {
    const { url, listenUrl = url, schema = DEFAULT_SCHEMA } = options;
    checkUrl(url);
    checkUrl(listenUrl);
    if (!SCHEMA_NAME.test(schema)) {
      const expected =
        "expected up to 40 lower-case letters, digits and underscores, not beginning with a digit";
      throw new ConfigurationError(`the schema of the database of runs: ${expected}, found "${schema}"`);
    }
    const driver = new PostgresDriver(options);
    try {
      await driver.#connections.use((client) => migratePostgres(client, schema));
      await driver.notices.open();
      return driver;
    } catch (thrown) {
      await driver.close();
      throw toStoreError(thrown);
    }
  }

  async read<Row>(text: string, values: readonly Value[], reader: Reader = "caller"): Promise<Row[]> {
    const connections = reader === "run" ? this.#connections : this.#reading;
    return this.#attempt(() => connections.use((client) => this.#run<Row>(client, text, values)));
  }

  /** The server measures the bodies, so that those beyond the limit are not sent. */
  async readPage<Row extends BodyRow>(
    { text, order }: PageText,
    values: readonly Value[],
    maxBytes: number,
  ): Promise<FirstRows<Row>> {
    const bytes = "octet_length(page.body)";
    const rows = await this.read<Row & { readonly total: number }>(
      `SELECT * FROM (
        SELECT page.*, sum(${bytes}) OVER (ORDER BY ${order}) AS bytes, ${bytes} AS size, count(*) OVER () AS total
        FROM (${text}) AS page) AS measured
      WHERE measured.bytes <= ${maxBytes} OR measured.bytes = measured.size ORDER BY ${order}`,
      values,
    );
    return { rows, hasMore: rows.length < (rows[0]?.total ?? 0) };
  }

  /** Sends all statements at once. After the first one that fails, the server executes none. */
  async batch(calls: readonly Call[], _use: SpaceUse): Promise<Answer[]> {
    const execute = async (client: PoolClient) => {
      const [only] = calls;
      if (calls.length === 1 && only !== undefined) return [await this.#answer(client, only)];
      const begun = client.query("BEGIN");
      const sent = calls.map((call) => this.#answer(client, call));
      const settled = await Promise.allSettled([begun, ...sent, client.query("COMMIT")]);
      const failure = settled.find((answer) => answer.status === "rejected");
      if (failure !== undefined) throw failure.reason;
      return Promise.all(sent);
    };
    return this.#attempt(() => this.#connections.use(execute));
  }

  async transaction<Result>(_use: SpaceUse, work: (queries: Queries) => Promise<Result>): Promise<Result> {
    return this.#attempt(() => this.#connections.use((client) => this.#transact(client, work)));
  }

  shrink(): void {}

  async close(): Promise<void> {
    await this.notices.close();
    await this.#connections.close();
    if (this.#reading !== this.#connections) await this.#reading.close();
  }

  async #transact<Result>(client: PoolClient, work: (queries: Queries) => Promise<Result>): Promise<Result> {
    const begun = client.query("BEGIN");
    // If it fails, the statements that follow fail with it.
    begun.catch(ignore);
    try {
      const result = await work({
        query: (text, values) => this.#run(client, text, values),
        execute: (calls) => Promise.all(calls.map((call) => this.#answer(client, call))),
      });
      await begun;
      await client.query("COMMIT");
      return result;
    } catch (thrown) {
      await client.query("ROLLBACK").catch(ignore);
      throw thrown;
    }
  }

  async #run<Row>(client: PoolClient, text: string, values: readonly Value[]): Promise<Row[]> {
    return (await this.#answer(client, { text, values })).rows as Row[];
  }

  async #answer(client: PoolClient, { text, values }: Call): Promise<Answer> {
    let prepared = this.#prepared.get(text);
    if (prepared === undefined) {
      const translated = toPostgres(text, this.schema);
      prepared = { name: `outrigger_${hash("sha1", translated, "hex")}`, text: translated };
      this.#prepared.set(text, prepared);
    }
    const { rows, rowCount } = await client.query({ ...prepared, values: values.map(toPostgresValue) });
    return { rows, changes: rowCount ?? 0, number: rows[0]?.number };
  }

  async #attempt<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work();
      } catch (thrown) {
        if (attempt === MAX_ATTEMPTS || !isRepeatable(thrown)) throw toStoreError(thrown);
      }
    }
  }
}

const WORDS = {
  ":inserted_number": "lastval()",
  ":returning_number": "RETURNING number",
  ":now": "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
  ":for_update": "FOR UPDATE",
  ":for_share": "FOR SHARE",
  ":skip_locked": "FOR UPDATE SKIP LOCKED",
};

/** Returns a statement in the words of PostgreSQL. */
function toPostgres(text: string, schema: string): string {
  return replaceWords(text, { ...WORDS, ":schema.": `${schema}.` })
    .replace(/:any_text\((\$\d+)\)/g, "ANY ($1::text[])")
    .replace(/:any_number\((\$\d+)\)/g, "ANY ($1::bigint[])");
}

/**
 * A text of PostgreSQL cannot contain NUL. No stored id has one, so another character in its place finds nothing
 * either.
 */
function toPostgresValue(value: Value): Value {
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\ufffd") : value;
}

/** The error quotes nothing of a wrong URL, which may contain a password. */
function checkUrl(url: string): void {
  if (!/^postgres(ql)?:\/\//.test(url)) throw badUrl("it does not begin with postgres://");
  try {
    new Client(createConnectionSettings(url));
  } catch (thrown) {
    throw badUrl(thrown instanceof Error && "code" in thrown ? String(thrown.code) : "it cannot be read");
  }
}

function badUrl(reason: string): ConfigurationError {
  return new ConfigurationError(
    `expected the URL of the database of runs as postgres://user:password@host:5432/database (${reason})`,
  );
}

function ignore(): void {}

const TYPES = {
  ":identity": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  ":id": 'TEXT COLLATE "C"',
  // The codec compresses bodies already.
  ":bytes": "BYTEA STORAGE EXTERNAL",
  ":long": "BIGINT",
  ":table": "",
  // Leaves room in each page for new versions of its rows, which then need no new index entries (HOT updates).
  ":updated_table": "WITH (fillfactor = 70)",
  ":keyed_table": "",
};

/**
 * Brings a schema to the version of this program, and creates it if there is none. Sidecars that start at the same time
 * wait for each other.
 * @throws ConfigurationError if a newer program has changed the schema.
 */
async function migratePostgres(client: ClientBase, schema: string): Promise<void> {
  // If there is nothing to do, neither a lock nor the right to create anything is needed.
  if ((await readVersion(client, schema)) === migrations.length) return;
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`outrigger ${schema}`]);
    const { rows } = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
    if (rows.length === 0) await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    const version = await readVersion(client, schema);
    if (version === 0) {
      await client.query(
        `CREATE TABLE ${schema}.migrations (number INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL)`,
      );
    }
    for (const [index, migration] of migrations.entries()) {
      if (index < version) continue;
      await client.query(replaceWords(migration, { ...TYPES, ":schema.": `${schema}.` }));
      await client.query(`INSERT INTO ${schema}.migrations VALUES ($1, now())`, [index + 1]);
    }
    await client.query("COMMIT");
  } catch (thrown) {
    await client.query("ROLLBACK").catch(ignore);
    throw thrown;
  }
}

/** Returns the number of the latest migration that was applied; 0 for none. */
async function readVersion(client: ClientBase, schema: string): Promise<number> {
  const table = `${schema}.migrations`;
  const found = await client.query("SELECT to_regclass($1) IS NOT NULL AS found", [table]);
  if (found.rows[0]?.found !== true) return 0;
  const { rows } = await client.query<{ version: number }>(`SELECT max(number) AS version FROM ${table}`);
  const version = Number(rows[0]?.version ?? 0);
  if (version <= migrations.length) return version;
  throw new ConfigurationError(
    `the schema "${schema}" of the database of runs has version ${version}; ` +
      `this version of Outrigger knows version ${migrations.length} at most: use the one that changed it, or a later one`,
  );
}
