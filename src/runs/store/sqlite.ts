import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { StoreFullError } from "../errors.ts";
import {
  type Answer,
  type BodyRow,
  type Call,
  type Driver,
  type FirstRows,
  LocalNotices,
  type PageText,
  type Queries,
  type Space,
  type SpaceUse,
  type Value,
} from "./driver.ts";
import { createRefusal, SpaceMeter } from "./run-space.ts";
import { isFull, OpenFiles, openSqlite, type SqliteLocation, toSqlite, toStoreError } from "./sqlite-file.ts";

/** How long statements may block the event loop, in milliseconds: all of one turn, and the group at its end. */
const MAX_BUSY_MS = 20;
const MAX_GROUP_MS = 10;

/** The share of the space to free if SQLite itself runs out, since the missing amount is then unknown. */
const FULL_SHARE = 1 / 16;

const NOTHING: Answer = { rows: [], changes: 0 };

/** Largest body that may stay bound to the statement that wrote it, in bytes. */
const MAX_KEPT_BODY_BYTES = 64 * 1024;

/** Space of deleted rows that a file keeps for later ones, in pages. */
const KEPT_PAGES = 256;

/** Pages that one step of shrinking frees, and the time that steps take before a pause, in milliseconds. */
const SHRINK_STEP_PAGES = 32;
const SHRINK_STEP_MS = 10;
const SHRINK_PAUSE_MS = 200;

interface Prepared {
  readonly statement: StatementSync;
  readonly hasRows: boolean;
  /** Whether some of its parameters are arrays. */
  readonly hasArrays: boolean;
}

/** A batch that waits for the end of the turn. */
interface WaitingBatch extends PromiseWithResolvers<Answer[]> {
  readonly calls: readonly Call[];
  readonly use: SpaceUse;
}

/**
 * A SQLite database: a file of this process alone, or memory. Statements are synchronous, some microseconds each, so
 * the driver returns to the event loop when it has been busy for a while. A commit to a file costs more than the
 * statements before it, so the batches of one turn of the event loop are committed together, at its end. A batch that
 * is probably alone in its turn, as the one before it was, is committed at once: its writer waits for nothing.
 */
export class SqliteDriver implements Driver {
  readonly isShared = false;
  readonly notices = new LocalNotices();
  readonly space: Space | undefined;
  readonly #connection: DatabaseSync;
  readonly #release: () => void;
  readonly #statements = new Map<string, Prepared>();
  readonly #pageBytes: number;
  readonly #meter: SpaceMeter | undefined;
  /** Undefined in memory. */
  readonly #files: OpenFiles | undefined;
  #waiting: WaitingBatch[] = [];
  /** Number of batches in this turn of the event loop, and whether the last turn with batches had several. */
  #batches = 0;
  #wasBusy = false;
  /** Set while a transaction of several steps is open. */
  #transaction: Promise<void> | undefined;
  /** When the first statement of this turn of the event loop began. */
  #turnStart: number | undefined;
  readonly #endTurn = () => {
    this.#turnStart = undefined;
  };
  #shrinkTimer: NodeJS.Timeout | undefined;

  private constructor(connection: DatabaseSync, release: () => void, location: SqliteLocation) {
    this.#connection = connection;
    this.#release = release;
    this.#pageBytes = this.#pragma("page_size");
    if (location.kind === "file") this.#files = new OpenFiles(location.path, connection);
    if (location.maxBytes !== undefined) {
      this.space = {
        maxBytes: location.maxBytes,
        setting: this.#files === undefined ? "runs.memory_size" : "runs.max_file_size",
        evicts: this.#files === undefined,
        usedBytes: () => (this.#pragma("page_count") - this.#pragma("freelist_count")) * this.#pageBytes,
      };
      this.#meter = new SpaceMeter(this.space);
    }
  }

  /**
   * Opens a database and brings its schema up to date. A file is created if there is none.
   * @param onProblem Called with problems of the file that an operator should know about.
   * @throws ConfigurationError that names the file.
   */
  static async open(location: SqliteLocation, onProblem: (problem: unknown) => void): Promise<SqliteDriver> {
    const { connection, release } = await openSqlite(location, onProblem);
    return new SqliteDriver(connection, release, location);
  }

  async read<Row>(text: string, values: readonly Value[]): Promise<Row[]> {
    return this.#whenFree(() => this.#all<Row>(text, values));
  }

  /** Measures the bodies first, which costs less than reading rows one by one. */
  async readPage<Row extends BodyRow>(
    { text, bytes }: PageText,
    values: readonly Value[],
    maxBytes: number,
  ): Promise<FirstRows<Row>> {
    return this.#whenFree(() => {
      const sum = this.#all<{ bytes: number | null }>(bytes, values)[0]?.bytes ?? null;
      if (sum === null) return { rows: [], hasMore: false };
      return sum <= maxBytes
        ? { rows: this.#all<Row>(text, values), hasMore: false }
        : this.#first<Row>(text, values, maxBytes);
    });
  }

  async batch(calls: readonly Call[], use: SpaceUse): Promise<Answer[]> {
    if (this.#files === undefined) return this.#whenFree(() => this.#execute(calls, use));
    this.#batches += 1;
    if (this.#batches === 1) setImmediate(this.#endBatches);
    const isFree = this.#waiting.length === 0 && this.#transaction === undefined;
    if (this.#batches === 1 && isFree && !this.#wasBusy) return this.#execute(calls, use);
    const waiting = { calls, use, ...Promise.withResolvers<Answer[]>() };
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  async transaction<Result>(use: SpaceUse, work: (queries: Queries) => Promise<Result>): Promise<Result> {
    while (this.#mustWait()) await this.#wait();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#transaction = promise;
    try {
      this.#checkFile();
      this.#prepare("BEGIN IMMEDIATE").statement.run();
      const result = await work({
        query: async (text, values) => this.#all(text, values),
        execute: async (calls) => calls.map((call) => this.#answer(call)),
      });
      this.#meter?.check(use);
      this.#prepare("COMMIT").statement.run();
      return result;
    } catch (thrown) {
      try {
        this.#rollBack();
      } catch {
        // The next transaction tries again.
      }
      throw this.#toError(thrown);
    } finally {
      // Cleared before the calls that wait for it begin another one.
      this.#transaction = undefined;
      resolve();
    }
  }

  /** Frees pages of a file until few are left. */
  shrink(): void {
    if (this.space?.evicts === true || this.#shrinkTimer !== undefined) return;
    this.#shrinkTimer = setTimeout(() => this.#shrink(), SHRINK_PAUSE_MS);
    this.#shrinkTimer.unref();
  }

  async close(): Promise<void> {
    clearTimeout(this.#shrinkTimer);
    while (this.#transaction !== undefined) await this.#transaction;
    while (this.#waiting.length > 0) this.#executeWaiting();
    this.#statements.clear();
    this.#connection.close();
    this.#release();
  }

  /**
   * The texts of the statements that were executed, each with the text that SQLite keeps, including values. For tests.
   */
  get statements(): ReadonlyMap<string, string> {
    return new Map([...this.#statements].map(([text, { statement }]) => [text, statement.expandedSQL]));
  }

  /** Executes statements once no transaction is open. First rolls back one whose rollback failed before. */
  async #whenFree<Result>(work: () => Result): Promise<Result> {
    while (this.#mustWait()) await this.#wait();
    try {
      this.#rollBack();
      return work();
    } catch (thrown) {
      throw this.#toError(thrown);
    }
  }

  /** Reports whether a transaction is open, or this turn of the event loop has already taken too long. */
  #mustWait(): boolean {
    if (this.#transaction !== undefined) return true;
    const now = performance.now();
    if (this.#turnStart === undefined) {
      this.#turnStart = now;
      setImmediate(this.#endTurn);
    }
    return now - this.#turnStart > MAX_BUSY_MS;
  }

  async #wait(): Promise<void> {
    await (this.#transaction ?? new Promise((resolve) => setImmediate(resolve)));
  }

  #execute(calls: readonly Call[], use: SpaceUse): Answer[] {
    try {
      this.#checkFile();
      const [only] = calls;
      const hasSpace = this.#meter?.hasSpaceFor(calls, use) ?? true;
      // A single statement is a transaction.
      if (hasSpace && calls.length === 1 && only !== undefined) return [this.#answer(only)];
      this.#prepare("BEGIN IMMEDIATE").statement.run();
      try {
        const answers: Answer[] = [];
        for (const call of calls) answers.push(this.#answer(call));
        if (!hasSpace) this.#meter?.check(use);
        this.#prepare("COMMIT").statement.run();
        return answers;
      } catch (thrown) {
        this.#rollBack();
        throw thrown;
      }
    } catch (thrown) {
      throw this.#toError(thrown);
    }
  }

  readonly #endBatches = (): void => {
    this.#wasBusy = this.#batches > 1;
    this.#batches = 0;
    if (this.#waiting.length > 0) this.#executeWaiting();
  };

  /** Executes waiting batches while there is time. The others follow in the next turn. */
  readonly #executeWaiting = (): void => {
    if (this.#transaction !== undefined) {
      void this.#transaction.then(this.#executeWaiting);
      return;
    }
    const end = performance.now() + MAX_GROUP_MS;
    try {
      if (this.#executeGroup(end) === 0) this.#executeEach(end);
    } catch (thrown) {
      for (const { reject } of this.#waiting.splice(0)) reject(this.#toError(thrown));
    }
    if (this.#waiting.length > 0) setImmediate(this.#executeWaiting);
  };

  /**
   * Executes waiting batches as one transaction. Returns their number: 0 if one of them fails or may lack space. Throws
   * if the transaction cannot be rolled back, since its statements must not be executed twice.
   */
  #executeGroup(end: number): number {
    const answers: Answer[][] = [];
    try {
      if (this.#waiting.length < 2) return 0;
      this.#checkFile();
      this.#prepare("BEGIN IMMEDIATE").statement.run();
      for (const { calls, use } of this.#waiting) {
        if (answers.length > 0 && performance.now() > end) break;
        if (this.#meter?.hasSpaceFor(calls, use) === false) throw new Error("unknown space");
        answers.push(calls.map((call) => this.#answer(call)));
      }
      this.#prepare("COMMIT").statement.run();
    } catch {
      this.#rollBack();
      return 0;
    }
    const executed = this.#waiting.splice(0, answers.length);
    for (const [index, { resolve }] of executed.entries()) resolve(answers[index] ?? []);
    return executed.length;
  }

  /** Executes each waiting batch separately, so that one can fail without the others. */
  #executeEach(end: number): void {
    let executed = 0;
    for (const { calls, use, resolve, reject } of this.#waiting) {
      if (executed > 0 && performance.now() > end) break;
      executed += 1;
      try {
        resolve(this.#execute(calls, use));
      } catch (thrown) {
        reject(thrown);
      }
    }
    this.#waiting.splice(0, executed);
  }

  /** Ends a transaction whose rollback failed before, and checks that writes are not lost. */
  #checkFile(): void {
    this.#rollBack();
    this.#files?.check();
  }

  /** Rolls back, unless the failure has already ended the transaction. */
  #rollBack(): void {
    if (this.#connection.isTransaction) this.#connection.exec("ROLLBACK");
  }

  #toError(thrown: unknown): unknown {
    if (!isFull(thrown)) return toStoreError(thrown);
    if (this.space === undefined)
      return new StoreFullError(
        "the disk with the store of runs is full; delete runs, or wait for runs to expire",
      );
    return createRefusal(this.space, this.space.maxBytes * FULL_SHARE);
  }

  #pragma(name: string): number {
    return Number(this.#prepare(`PRAGMA ${name}`).statement.get()?.[name] ?? 0);
  }

  #all<Row>(text: string, values: readonly Value[]): Row[] {
    const prepared = this.#prepare(text);
    return prepared.statement.all(...bind(prepared, values)) as Row[];
  }

  #first<Row extends BodyRow>(text: string, values: readonly Value[], maxBytes: number): FirstRows<Row> {
    const prepared = this.#prepare(text);
    const rows: Row[] = [];
    let bytes = 0;
    for (const row of prepared.statement.iterate(...bind(prepared, values)) as Iterable<Row>) {
      bytes += row.body.byteLength;
      if (rows.length > 0 && bytes > maxBytes) return { rows, hasMore: true };
      rows.push(row);
    }
    return { rows, hasMore: false };
  }

  #answer({ text, values, onlyLocks }: Call): Answer {
    // Transactions exclude each other.
    if (onlyLocks === true) return NOTHING;
    const prepared = this.#prepare(text);
    const { statement, hasRows } = prepared;
    const bound = bind(prepared, values);
    if (hasRows) {
      const rows = statement.all(...bound);
      return { rows, changes: rows.length };
    }
    try {
      const { changes, lastInsertRowid } = statement.run(...bound);
      return { rows: [], changes: Number(changes), number: Number(lastInsertRowid) };
    } finally {
      for (const value of values)
        if (value instanceof Uint8Array && value.byteLength > MAX_KEPT_BODY_BYTES) releaseValues(statement);
    }
  }

  #prepare(text: string): Prepared {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const statement = this.#connection.prepare(toSqlite(text));
    const hasRows = statement.columns().length > 0;
    const prepared = { statement, hasRows, hasArrays: text.includes(":any_") };
    this.#statements.set(text, prepared);
    return prepared;
  }

  #shrink(): void {
    this.#shrinkTimer = undefined;
    if (this.#transaction === undefined) {
      const end = performance.now() + SHRINK_STEP_MS;
      try {
        while (this.#pragma("freelist_count") > KEPT_PAGES) {
          this.#connection.exec(`PRAGMA incremental_vacuum(${SHRINK_STEP_PAGES})`);
          if (performance.now() > end) break;
        }
      } catch {
        // The disk is full, or another process copies the file. The next deletion tries again.
        return;
      }
    }
    if (this.#pragma("freelist_count") > KEPT_PAGES) this.shrink();
  }
}

/** Returns the parameters of a statement: arrays as JSON. */
function bind({ hasArrays }: Prepared, values: readonly Value[]): SQLInputValue[] {
  if (!hasArrays) return values as SQLInputValue[];
  return values.map((value) => (Array.isArray(value) ? JSON.stringify(value) : value)) as SQLInputValue[];
}

/**
 * Releases the values of a statement, which SQLite copies and keeps until others are bound. node:sqlite has no call for
 * that, but drops them before it refuses a value that cannot be bound.
 */
function releaseValues(statement: StatementSync): void {
  try {
    statement.run(undefined as unknown as SQLInputValue);
  } catch {
    // Expected: the statement was not executed.
  }
}
