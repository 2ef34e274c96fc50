import { chmodSync, closeSync, existsSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from "node:sqlite";
import { ConfigurationError } from "../../../core/errors.ts";
import { failureOf, openFailureOf } from "./failures.ts";
import { checkOrigin, migrate } from "./migrate.ts";

/** Where the data is. */
export type SqliteLocation =
  | { readonly kind: "file"; readonly path: string }
  /** In memory, at most so many bytes of it. */
  | { readonly kind: "memory"; readonly maxBytes: number };

/** A row of a result, by the names of its columns. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** How long the start waits for a process that is about to end, in milliseconds. */
const LOCK_TIMEOUT_MS = 2_000;

/** The write-ahead log is cut to this size when it was copied to the file, in bytes. */
const MAX_LOG_BYTES = 64 * 1024 * 1024;

/** One connection to a database, its prepared statements and its transactions. */
export class SqliteDatabase {
  /** For errors. */
  readonly name: string;
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  private constructor(name: string, connection: DatabaseSync) {
    this.name = name;
    this.#connection = connection;
  }

  /**
   * Opens a database and brings its schema up to date. A file is created where there is none, readable by its owner
   * only, and is locked until `close`.
   * @throws ConfigurationError that names the file.
   */
  static open(location: SqliteLocation): SqliteDatabase {
    const name = location.kind === "file" ? location.path : "in memory";
    if (location.kind === "file") prepareFile(location.path);
    try {
      const connection = new DatabaseSync(location.kind === "file" ? location.path : ":memory:", {
        timeout: LOCK_TIMEOUT_MS,
        enableForeignKeyConstraints: true,
      });
      return new SqliteDatabase(name, configured(connection, location, name));
    } catch (error) {
      throw openFailureOf(error, name);
    }
  }

  /** The first row of a query. */
  first(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...values);
  }

  /** All rows of a query. */
  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#statement(sql).all(...values);
  }

  /** The rows of a query, as far as they are asked for. */
  rows(sql: string, ...values: SQLInputValue[]): Iterable<Row> {
    return this.#statement(sql).iterate(...values);
  }

  /** Changes rows. Returns how many, and the number of the last one that was inserted. */
  change(sql: string, ...values: SQLInputValue[]): { readonly changes: number; readonly inserted: number } {
    const { changes, lastInsertRowid } = this.#statement(sql).run(...values);
    return { changes: Number(changes), inserted: Number(lastInsertRowid) };
  }

  /** Runs queries and changes as one transaction: all of it is done, or it throws and nothing is. */
  transaction<Result>(run: () => Result): Result {
    return this.guard(() => {
      this.#connection.exec("BEGIN IMMEDIATE");
      try {
        const result = run();
        this.#connection.exec("COMMIT");
        return result;
      } catch (error) {
        // Some failures have ended the transaction already.
        if (this.#connection.isTransaction) this.#connection.exec("ROLLBACK");
        throw error;
      }
    });
  }

  /** Runs queries, or one change, with errors of ours. */
  guard<Result>(run: () => Result): Result {
    try {
      return run();
    } catch (error) {
      throw failureOf(error, this.name);
    }
  }

  /** Gives some of the space of removed rows back to the system. */
  shrink(): void {
    this.guard(() => this.#connection.exec(`PRAGMA incremental_vacuum(${MAX_SHRUNK_PAGES})`));
  }

  /** The statements that were run so far, for tests of their plans. */
  get statements(): readonly string[] {
    return [...this.#statements.keys()];
  }

  close(): void {
    this.#statements.clear();
    this.#connection.close();
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const prepared = this.#connection.prepare(sql);
    this.#statements.set(sql, prepared);
    return prepared;
  }
}

/** Pages that one call of `shrink` frees, which takes a few milliseconds. */
const MAX_SHRUNK_PAGES = 500;

/** The connection, with its settings and the latest schema. It is closed where that fails. */
function configured(connection: DatabaseSync, location: SqliteLocation, name: string): DatabaseSync {
  try {
    connection.exec(SETTINGS);
    checkOrigin(connection, name);
    if (location.kind === "memory") limitPages(connection, location.maxBytes);
    else connection.exec(FILE_SETTINGS);
    migrate(connection);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Before anything is read: a lock that no other process gets past. Removed content is overwritten. */
const SETTINGS = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA secure_delete = ON;
  PRAGMA trusted_schema = OFF;`;

/** A change is in the log when it is acknowledged: it survives the end of the process, if not that of the machine. */
const FILE_SETTINGS = `
  PRAGMA auto_vacuum = INCREMENTAL;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA journal_size_limit = ${MAX_LOG_BYTES};`;

function limitPages(connection: DatabaseSync, maxBytes: number): void {
  const pageSize = Number(connection.prepare("PRAGMA page_size").get()?.page_size);
  connection.exec(`PRAGMA max_page_count = ${Math.ceil(maxBytes / pageSize)}`);
}

/** Creates the file with narrow permissions: SQLite gives those of the file to the log beside it. */
function prepareFile(path: string): void {
  const folder = dirname(path);
  if (!existsSync(folder))
    throw new ConfigurationError(`cannot open the run store ${path}: there is no ${folder}`);
  try {
    if (existsSync(path)) {
      if (!statSync(path).isFile()) throw new Error("it is not a file");
      return;
    }
    closeSync(openSync(path, "a", OWNER_ONLY));
    chmodSync(path, OWNER_ONLY);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(`cannot open the run store ${path}: ${reason}`, { cause: error });
  }
}

const OWNER_ONLY = 0o600;
