/** Notices that files of an open SQLite database were removed or replaced, which SQLite itself does not. */
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { ServerError } from "../../core/errors.ts";

/** How often the files are looked at, in milliseconds. */
const CHECK_INTERVAL_MS = 1_000;

/**
 * The files of a database, of which the open descriptors could have lost their names. Writes would still succeed, and
 * would be lost with the process.
 */
export class OpenFiles {
  readonly #path: string;
  readonly #connection: DatabaseSync;
  readonly #database: bigint | undefined;
  #log: bigint | undefined;
  #checkedAt = performance.now();
  #isRemoved = false;

  /** @param connection In WAL mode, and has written at least once, so that the log exists. */
  constructor(path: string, connection: DatabaseSync) {
    this.#path = path;
    this.#connection = connection;
    this.#database = getInode(path);
    this.#log = getInode(`${path}-wal`);
  }

  /**
   * To be called before each write. A log that was removed is moved into the database, and begun again.
   * @throws ServerError if the database itself was removed or replaced.
   */
  check(): void {
    const now = performance.now();
    if (now - this.#checkedAt > CHECK_INTERVAL_MS) {
      this.#checkedAt = now;
      this.#isRemoved = getInode(this.#path) !== this.#database;
      if (!this.#isRemoved && getInode(`${this.#path}-wal`) !== this.#log) this.#restartLog();
    }
    if (!this.#isRemoved) return;
    const advice = "move it back, or restart the sidecar";
    throw new ServerError(`cannot use the run store: its file was removed or replaced; ${advice}`);
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

function getInode(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
