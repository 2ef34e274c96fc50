/** Opens SQLite databases and watches their files: their locks, their schema, and the errors of SQLite. */
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { ConfigurationError, InternalError, SDKError, ServerError } from "../../core/errors.ts";
import { RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import { NotConnectedError, replaceWords } from "./driver.ts";
import { migrations } from "./schema.ts";

/** The location of a database, and its maximum size in bytes. */
export type SqliteLocation =
  | {
      readonly kind: "file";
      readonly path: string;
      readonly maxBytes?: number | undefined;
      /** Whether completed writes survive a power failure, not only the end of the process. */
      readonly isDurable?: boolean | undefined;
    }
  | { readonly kind: "memory"; readonly maxBytes: number };

/** An open database. */
export interface OpenDatabase {
  readonly connection: DatabaseSync;
  /** Releases the lock on the file. */
  readonly release: () => void;
}

/** Marks files as Outrigger's: "OUTR". */
const APPLICATION_ID = 0x4f555452;

/** The mode of files that only their owner can read and write. */
const OWNER_ONLY = 0o600;
const OTHERS = 0o077;

/** How long the sidecar waits at its start for a process that is about to end, in milliseconds. */
const LOCK_TIMEOUT_MS = 2_000;
const LOCK_POLL_MS = 50;

/** The write-ahead log is truncated to this size, in bytes. */
const MAX_LOG_BYTES = 64 * 1024 * 1024;

/** Frees runs, by the index of their status. */
const FREE_RUNS = "UPDATE runs SET holder = NULL, fence = fence + 1 WHERE holder IS NOT NULL";

/** Result codes of SQLite (https://www.sqlite.org/rescode.html), without their extensions. */
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_FULL = 13;
const SQLITE_CONSTRAINT = 19;

/** The low byte of an extended result code is the code itself. */
const CODE_MASK = 0xff;

const REASONS: ReadonlyMap<number, string> = new Map([
  [SQLITE_BUSY, "another process uses it"],
  [SQLITE_LOCKED, "another process uses it"],
  [8, "it is read-only"],
  [10, "reading or writing failed"],
  [11, "it is damaged"],
  [SQLITE_FULL, "there is no space left"],
  [14, "it cannot be opened"],
  [26, "it is not a SQLite database, or it is damaged"],
]);

/** @throws ConfigurationError that names the file. */
export async function openSqlite(
  location: SqliteLocation,
  onProblem: (problem: unknown) => void,
): Promise<OpenDatabase> {
  if (location.kind === "memory") {
    const connection = connect(":memory:");
    limitPages(connection, location.maxBytes);
    migrate(connection, "in memory");
    return { connection, release: () => {} };
  }
  const { path } = location;
  prepareFile(path, onProblem);
  const release = await lockFile(path);
  try {
    return { connection: openFile(path, location.isDurable === true, location.maxBytes), release };
  } catch (thrown) {
    release();
    throw toOpenError(thrown, path);
  }
}

function openFile(path: string, isDurable: boolean, maxBytes: number | undefined): DatabaseSync {
  const connection = connect(path);
  try {
    // Overwrites removed content.
    connection.exec("PRAGMA secure_delete = ON");
    checkOrigin(connection, path);
    connection.exec(`
      PRAGMA auto_vacuum = INCREMENTAL;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${isDurable ? "FULL" : "NORMAL"};
      PRAGMA journal_size_limit = ${MAX_LOG_BYTES}`);
    if (maxBytes !== undefined) limitPages(connection, maxBytes);
    migrate(connection, path);
    // The holders have ended, since only one process uses a file. Their leases were measured by clocks of their
    // processes.
    connection.exec(`
      DELETE FROM processes;
      ${FREE_RUNS} AND status = ${RunStatus.IN_PROGRESS};
      ${FREE_RUNS} AND status <> ${RunStatus.IN_PROGRESS}`);
    // From here on, SQLite must not wait for another program, which would block the event loop: the store repeats its
    // calls instead.
    connection.exec("PRAGMA busy_timeout = 0");
    return connection;
  } catch (thrown) {
    connection.close();
    throw thrown;
  }
}

function connect(path: string): DatabaseSync {
  const connection = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS, enableForeignKeyConstraints: true });
  connection.exec("PRAGMA trusted_schema = OFF");
  // A monotonic clock: if the system's clock is changed, no runs must be abandoned.
  connection.function("process_clock", { directOnly: true }, () => Math.floor(performance.now()));
  return connection;
}

function limitPages(connection: DatabaseSync, maxBytes: number): void {
  const pageSize = readNumber(connection, "SELECT page_size AS value FROM pragma_page_size");
  connection.exec(`PRAGMA max_page_count = ${Math.ceil(maxBytes / pageSize)}`);
}

/** Creates the file with narrow permissions, which SQLite gives to the files next to it as well. */
function prepareFile(path: string, onProblem: (problem: unknown) => void): void {
  const folder = dirname(path);
  if (!existsSync(folder))
    throw new ConfigurationError(`cannot open the run store ${path}: the folder ${folder} does not exist`);
  try {
    if (existsSync(path)) {
      checkFile(path, onProblem);
      return;
    }
    closeSync(openSync(path, "a", OWNER_ONLY));
    chmodSync(path, OWNER_ONLY);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new ConfigurationError(`cannot open the run store ${path}: ${reason}`, { cause: thrown });
  }
}

function checkFile(path: string, onProblem: (problem: unknown) => void): void {
  const found = statSync(path);
  if (!found.isFile()) throw new Error("it is not a file");
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch {
    throw new Error("it is read-only for the sidecar");
  }
  if ((found.mode & OTHERS) === 0) return;
  const mode = (found.mode & 0o777).toString(8);
  const problem = `other users can read or write the run store ${path} (mode ${mode}); expected mode 600`;
  onProblem(new ConfigurationError(problem));
}

/**
 * Locks a file for one sidecar, by a lock on a file next to it that the system releases with the process. The database
 * itself is not locked, so that it can be copied.
 */
async function lockFile(path: string): Promise<() => void> {
  const lockPath = `${path}-lock`;
  const end = performance.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    let lock: DatabaseSync | undefined;
    try {
      if (!existsSync(lockPath)) closeSync(openSync(lockPath, "a", OWNER_ONLY));
      const opened = new DatabaseSync(lockPath, { timeout: 0 });
      lock = opened;
      opened.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
      return () => opened.close();
    } catch (thrown) {
      lock?.close();
      if (getCode(thrown) !== SQLITE_BUSY || performance.now() > end) throw toOpenError(thrown, path);
    }
    // Waiting for a lock in SQLite would block the event loop.
    await delay(LOCK_POLL_MS);
  }
}

/** Checks that a database is Outrigger's, of a known version. Changes nothing. */
export function checkOrigin(connection: DatabaseSync, name: string): void {
  const isEmpty = readNumber(connection, "SELECT count(*) AS value FROM sqlite_schema") === 0;
  if (!isEmpty && readApplicationId(connection) !== APPLICATION_ID) {
    throw new ConfigurationError(`cannot use the run store ${name}: it is the database of another program`);
  }
  const version = readVersion(connection);
  if (version > migrations.length) {
    throw new ConfigurationError(
      `cannot use the run store ${name}: it has schema version ${version}, of a newer Outrigger; ` +
        `this one knows up to ${migrations.length}`,
    );
  }
}

/** Applies the missing migrations, each in a transaction. */
function migrate(connection: DatabaseSync, name: string): void {
  if (readApplicationId(connection) !== APPLICATION_ID)
    connection.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  connection.exec(
    "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, applied_ms INTEGER NOT NULL) STRICT",
  );
  const applied = readVersion(connection);
  for (const [index, migration] of migrations.slice(applied).entries()) {
    connection.exec("BEGIN IMMEDIATE");
    try {
      connection.exec(toSqlite(replaceWords(migration, TYPES)));
      connection.prepare("INSERT INTO migrations VALUES (?, ?)").run(applied + index + 1, Date.now());
      connection.exec("COMMIT");
    } catch (thrown) {
      if (connection.isTransaction) connection.exec("ROLLBACK");
      throw toOpenError(thrown, name);
    }
  }
}

const WORDS: Readonly<Record<string, string>> = {
  ":schema.": "",
  ":inserted_number": "last_insert_rowid()",
  ":returning_number": "",
  ":now": "process_clock()",
  ":for_update": "",
  ":for_share": "",
  ":skip_locked": "",
};

/** Returns a statement in the words of SQLite. */
export function toSqlite(text: string): string {
  return replaceWords(text, WORDS)
    .replace(/= :any_(?:text|number)\((\$\d+)\)/g, "IN (SELECT value FROM json_each($1))")
    .replace(/\$(\d+)/g, "?$1");
}

const TYPES: Readonly<Record<string, string>> = {
  ":identity": "INTEGER PRIMARY KEY",
  ":id": "TEXT",
  ":bytes": "BLOB",
  ":long": "INTEGER",
  ":table": "STRICT",
  ":updated_table": "STRICT",
  ":keyed_table": "STRICT, WITHOUT ROWID",
};

/** Returns the number of the latest migration that was applied; 0 for none. */
function readVersion(connection: DatabaseSync): number {
  const tables = "SELECT count(*) AS value FROM sqlite_schema WHERE name = 'migrations'";
  if (readNumber(connection, tables) === 0) return 0;
  return readNumber(connection, "SELECT coalesce(max(version), 0) AS value FROM migrations");
}

function readApplicationId(connection: DatabaseSync): number {
  return readNumber(connection, "SELECT application_id AS value FROM pragma_application_id");
}

function readNumber(connection: DatabaseSync, sql: string): number {
  return Number(connection.prepare(sql).get()?.value);
}

/** How often the files are checked, in milliseconds. */
const CHECK_INTERVAL_MS = 1_000;

/**
 * The files of an open database. One that another program has removed stays open: writes to it still succeed, and are
 * lost with the process.
 */
export class OpenFiles {
  readonly #path: string;
  readonly #connection: DatabaseSync;
  readonly #database: bigint | undefined;
  #log: bigint | undefined;
  #checkedAt = performance.now();
  /** Why nothing can be written. */
  #problem: string | undefined;

  /** @param connection In WAL mode. Has written at least once, so that the log exists. */
  constructor(path: string, connection: DatabaseSync) {
    this.#path = path;
    this.#connection = connection;
    this.#database = getInode(path);
    this.#log = getInode(`${path}-wal`);
  }

  /**
   * Called before each write. If the log was removed, moves its content into the database and begins a new one.
   * @throws ServerError if the database itself was removed or replaced, or cannot be reached by its path.
   */
  check(): void {
    const now = performance.now();
    if (now - this.#checkedAt > CHECK_INTERVAL_MS) {
      this.#checkedAt = now;
      this.#problem = this.#look();
    }
    if (this.#problem !== undefined) throw new ServerError(`cannot use the run store: ${this.#problem}`);
  }

  /** Returns why nothing can be written to the files; undefined if it can. */
  #look(): string | undefined {
    let log: bigint | undefined;
    try {
      if (getInode(this.#path) !== this.#database)
        return "its file was removed or replaced; move it back, or restart the sidecar";
      log = getInode(`${this.#path}-wal`);
    } catch (thrown) {
      return `its file cannot be reached (${getSystemCode(thrown)})`;
    }
    if (log !== this.#log) this.#restartLog();
    return undefined;
  }

  /** Leaving WAL mode moves the content of the log, which is still open, into the database. */
  #restartLog(): void {
    // A write begins the new log.
    this.#connection.exec(`
      PRAGMA journal_mode = DELETE;
      PRAGMA journal_mode = WAL;
      DELETE FROM processes WHERE false`);
    this.#log = getInode(`${this.#path}-wal`);
  }
}

function getSystemCode(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown reason";
}

/** Returns the number of a file; undefined if there is none. Throws if its folder cannot be searched. */
function getInode(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

/** Returns the result code of an error of SQLite; undefined for any other error. */
function getCode(thrown: unknown): number | undefined {
  const isFromSqlite = thrown instanceof Error && "code" in thrown && thrown.code === "ERR_SQLITE_ERROR";
  if (!isFromSqlite || !("errcode" in thrown) || typeof thrown.errcode !== "number") return undefined;
  return thrown.errcode & CODE_MASK;
}

/** Reports whether SQLite found no space for a change. */
export function isFull(thrown: unknown): boolean {
  return getCode(thrown) === SQLITE_FULL;
}

/** Returns the error for callers: without the path, and without the text of SQLite. */
export function toStoreError(thrown: unknown): unknown {
  const code = getCode(thrown);
  if (code === undefined || thrown instanceof SDKError) return thrown;
  if (code === SQLITE_CONSTRAINT) return new InternalError("the run store refused a row", { cause: thrown });
  const reason = REASONS.get(code) ?? `SQLite failed with the code ${code}`;
  const message = `cannot use the run store: ${reason}`;
  const isLocked = code === SQLITE_BUSY || code === SQLITE_LOCKED;
  return new (isLocked ? NotConnectedError : ServerError)(message, { cause: thrown });
}

/** Returns the error for the operator, if a database cannot be opened or copied. */
export function toOpenError(thrown: unknown, name: string): unknown {
  const code = getCode(thrown);
  if (code === undefined) return thrown;
  const text = thrown instanceof Error ? thrown.message : "";
  const hint = code === SQLITE_BUSY ? ": every sidecar needs a separate file" : "";
  const reason = REASONS.get(code) ?? "SQLite failed";
  return new ConfigurationError(`cannot use the run store ${name}: ${reason} (${text})${hint}`, {
    cause: thrown,
  });
}

/**
 * Copies the file of a store while a sidecar may use it. The copy holds all runs that were complete when it began,
 * without the space of deleted ones. Only its owner can read it.
 * @throws ConfigurationError that names the file.
 */
export function copySqliteFile(from: string, to: string): void {
  if (!existsSync(from))
    throw new ConfigurationError(`cannot copy the run store ${from}: the file does not exist`);
  if (existsSync(to)) throw new ConfigurationError(`cannot copy to ${to}: the file already exists`);
  let connection: DatabaseSync | undefined;
  let isCreated = false;
  try {
    connection = new DatabaseSync(from, { readOnly: true });
    checkOrigin(connection, from);
    closeSync(openSync(to, "ax", OWNER_ONLY));
    isCreated = true;
    chmodSync(to, OWNER_ONLY);
    connection.prepare("VACUUM INTO ?").run(to);
  } catch (thrown) {
    if (isCreated) unlinkSync(to);
    throw toOpenError(thrown, from);
  } finally {
    connection?.close();
  }
}
