import { DatabaseError, Pool } from "pg";
import {
  AMOUNT_KINDS,
  type Amount,
  type AmountLimits,
  add,
  type BudgetPeriod,
  findExceeded,
  getBegin,
} from "../budget-window.ts";
import { type ConnectionObserver, type Failure, ReconnectingConnection } from "./reconnecting-connection.ts";
import type { BudgetCounter, CountedBudget, PendingCorrection } from "./shared-budget.ts";

/** A PostgreSQL database for budgets. */
export interface PostgresSettings {
  /** Connection string: `postgres://user:password@host:5432/database`. */
  readonly url: string;
  /** Schema of the table. Needs no quotes. */
  readonly schema: string;
  /** Milliseconds that a statement may take. */
  readonly timeoutMs: number;
}

/** Connections of a sidecar. The calls of a budget wait for the lock of one row, so more would not help. */
const POOL_SIZE = 4;

/** Milliseconds after which a connection attempt fails. */
const CONNECTION_TIMEOUT_MS = 4_000;

/** A PostgreSQL database with the sums of budgets: a row for each budget and window. */
export class PostgresBudgets {
  /** The connection to the database, and its state. */
  readonly connection: ReconnectingConnection<Pool>;
  readonly #table: string;

  constructor({ url, schema, timeoutMs }: PostgresSettings, observer: ConnectionObserver) {
    // Addresses with several hosts or a Unix socket are not URLs.
    const server = `PostgreSQL at ${URL.parse(url)?.host || "the address of its URL"}`;
    this.#table = `${schema}.shared_budgets`;
    this.connection = new ReconnectingConnection(
      {
        server,
        timeoutMs,
        connect: () => connect(url, schema, this.#table),
        // Fails in a database that takes no writes, such as a standby, and without rights on the table.
        probe: (pool) => pool.query(`DELETE FROM ${this.#table} WHERE false`),
        close: (pool) => void pool.end().catch(() => {}),
        // Idle connections that break are replaced, and statements report their own failures.
        follow: () => {},
        describe,
      },
      observer,
    );
  }

  /** Creates the counter of a budget. @param key The same in all sidecars. */
  createCounter(key: string, period: BudgetPeriod): BudgetCounter {
    return new PostgresBudgetCounter(this, key, period);
  }

  /** Executes a statement, and decodes its first row. @throws UnavailableError */
  query<Result>(
    toText: (table: string) => string,
    values: readonly unknown[],
    decode: (row: Row | undefined) => Result,
  ): Promise<Result> {
    return this.connection.use(async (pool) => {
      const { rows } = await pool.query<Row>(toText(this.#table), [...values]);
      return decode(rows[0]);
    });
  }
}

/** A row of the table. BIGINTs are texts, and fit numbers. */
type Row = Readonly<Record<string, string>>;

async function connect(url: string, schema: string, table: string): Promise<Pool> {
  const pool = new Pool({
    connectionString: url,
    application_name: "outrigger",
    max: POOL_SIZE,
    connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
    query_timeout: CONNECTION_TIMEOUT_MS,
    keepAlive: true,
  });
  pool.on("connect", (client) => client.on("error", () => {}));
  pool.on("error", () => {});
  try {
    await createTable(pool, schema, table);
    return pool;
  } catch (thrown) {
    pool.end().catch(() => {});
    throw thrown;
  }
}

/** Sidecars that start at the same time create the table one after the other. */
async function createTable(pool: Pool, schema: string, table: string): Promise<void> {
  const { rows } = await pool.query("SELECT to_regclass($1) IS NOT NULL AS is_there", [table]);
  if (rows[0]?.is_there === true) return;
  await pool.query(`BEGIN;
    SELECT pg_advisory_xact_lock(hashtext('${table}'));
    CREATE SCHEMA IF NOT EXISTS ${schema};
    CREATE TABLE IF NOT EXISTS ${table} (
      key TEXT NOT NULL,
      begin_ms BIGINT NOT NULL,
      requests BIGINT NOT NULL,
      tokens BIGINT NOT NULL,
      nano_usd BIGINT NOT NULL,
      PRIMARY KEY (key, begin_ms)
    );
    COMMIT`);
}

/** Adds an amount if the sums stay within the limits. Parameters: the key, three amounts, three limits or null. */
function toTake(table: string, begin: string): string {
  return `INSERT INTO ${table} AS counted
    SELECT $1, ${begin}, $2::bigint, $3::bigint, $4::bigint
    WHERE $2::bigint <= coalesce($5::bigint, $2) AND $3::bigint <= coalesce($6::bigint, $3)
      AND $4::bigint <= coalesce($7::bigint, $4)
    ON CONFLICT (key, begin_ms) DO UPDATE SET ${ADDED}
    WHERE counted.requests + $2 <= coalesce($5, counted.requests + $2)
      AND counted.tokens + $3 <= coalesce($6, counted.tokens + $3)
      AND counted.nano_usd + $4 <= coalesce($7, counted.nano_usd + $4)
    RETURNING begin_ms, requests, tokens, nano_usd`;
}

/** Parameters: the key, the start of the window, three amounts. */
function toCorrect(table: string): string {
  return `INSERT INTO ${table} AS counted VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (key, begin_ms) DO UPDATE SET ${ADDED}`;
}

/** Reads the current sums. Parameters: the key. */
function toRead(table: string, begin: string): string {
  return `SELECT began.ms AS begin_ms, coalesce(requests, 0) AS requests, coalesce(tokens, 0) AS tokens,
      coalesce(nano_usd, 0) AS nano_usd
    FROM (SELECT ${begin} AS ms) AS began LEFT JOIN ${table} ON key = $1 AND begin_ms = began.ms`;
}

/** Parameters: the key, and the start of the first window that stays. */
function toRemove(table: string): string {
  return `DELETE FROM ${table} WHERE key = $1 AND begin_ms < $2`;
}

const ADDED = `requests = counted.requests + excluded.requests, tokens = counted.tokens + excluded.tokens,
  nano_usd = counted.nano_usd + excluded.nano_usd`;

class PostgresBudgetCounter implements BudgetCounter {
  readonly #budgets: PostgresBudgets;
  readonly #key: string;
  readonly #period: BudgetPeriod;
  /** The window of the last call. */
  #begin = Number.NaN;

  constructor(budgets: PostgresBudgets, key: string, period: BudgetPeriod) {
    this.#budgets = budgets;
    this.#key = key;
    this.#period = period;
  }

  /** One statement, unless the call does not fit, or is the first one after an outage. */
  async take(amount: Amount, limits: AmountLimits, owed: PendingCorrection): Promise<CountedBudget> {
    if (AMOUNT_KINDS.some((kind) => owed.amount[kind] !== 0)) await this.correct(owed.begin, owed.amount);
    const values = [this.#key, ...toValues(amount), ...AMOUNT_KINDS.map((kind) => limits[kind] ?? null)];
    const toText = (table: string) => toTake(table, this.#beginSql);
    const counted = await this.#budgets.query(toText, values, (row) => row && this.#toCounted(row));
    if (counted === undefined) return this.#refuse(amount, limits);
    if (counted.begin !== this.#begin) this.#removeOld(counted.begin);
    this.#begin = counted.begin;
    return counted;
  }

  correct(begin: number, amount: Amount): Promise<unknown> {
    return this.#budgets.query(toCorrect, [this.#key, begin, ...toValues(amount)], () => {});
  }

  async #refuse(amount: Amount, limits: AmountLimits): Promise<CountedBudget> {
    const toText = (table: string) => toRead(table, this.#beginSql);
    const counted = await this.#budgets.query(toText, [this.#key], (row = {}) => this.#toCounted(row));
    // Another call may have released the missing amount.
    const anyLimit = AMOUNT_KINDS.find((kind) => limits[kind] !== undefined);
    return { ...counted, exceeded: findExceeded(add(counted.sums, amount, 1), limits) ?? anyLimit };
  }

  /** When the window of the server's clock began. The period is one of three words. */
  get #beginSql(): string {
    return `(extract(epoch FROM date_trunc('${this.#period}', now(), 'UTC')) * 1000)::bigint`;
  }

  #toCounted(row: Row): CountedBudget {
    const begin = Number(row.begin_ms);
    const sums = {
      requests: Number(row.requests),
      tokens: Number(row.tokens),
      nanoUsd: Number(row.nano_usd),
    };
    return { exceeded: undefined, begin, end: getBegin(this.#period, begin, 1), sums };
  }

  /** Removes old windows. The previous one stays, for calls that have not ended. */
  #removeOld(begin: number): void {
    const oldest = getBegin(this.#period, begin, -1);
    this.#budgets.query(toRemove, [this.#key, oldest], () => {}).catch(() => {});
  }
}

function toValues(amount: Amount): number[] {
  return AMOUNT_KINDS.map((kind) => amount[kind]);
}

/** Problems by the class of the SQLSTATE, its first two characters. The server's texts are not shown. */
const SQLSTATE_CLASSES: ReadonlyMap<string, string> = new Map([
  ["08", "the connection broke"],
  ["28", "it refused the user or the password"],
  ["3D", "the database does not exist"],
  ["42", "the role lacks rights on the schema, or the table has other columns"],
  ["53", "it is out of resources"],
  ["57", "it is shutting down or took too long"],
]);

function describe(thrown: unknown): Failure {
  if (thrown instanceof DatabaseError) {
    const { code = "" } = thrown;
    const known = code === "25006" ? "it is read-only" : SQLSTATE_CLASSES.get(code.slice(0, 2));
    return { problem: `${known ?? "it refused a statement"} (SQLSTATE ${code})`, reason: "refused" };
  }
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "no answer";
  return { problem: `the connection failed (${code})`, reason: "connection" };
}
