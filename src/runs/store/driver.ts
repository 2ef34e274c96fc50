/** The interface of a database under the store, and the SQL dialect that the store uses for every database. */

import { StoreUnreachableError } from "../errors.ts";
import type { RunNotice } from "../store.ts";

/** A parameter of a statement. Drivers pass arrays in the form that `:any_text` and `:any_number` read. */
export type Value = string | number | null | Uint8Array | readonly string[] | readonly number[];

/**
 * A statement with its parameters. The text is what PostgreSQL and SQLite have in common, with parameters `$1`, `$2`
 * and these placeholders, which each driver replaces by words of its database:
 *
 * - `:schema.` before the name of a table,
 * - `:inserted_number`: the number of the row that this transaction inserted last,
 * - `:returning_number` at the end of an INSERT: its answer has the number of the row,
 * - `:now`: the clock for the liveness of processes, in milliseconds,
 * - `:for_update`, `:for_share`, `:skip_locked` at the end of a SELECT,
 * - `= :any_text($1)`, `= :any_number($1)`: equals an element of the array.
 */
export interface Call {
  readonly text: string;
  readonly values: readonly Value[];
  /** Set if it only locks rows, which a driver without concurrent transactions need not do. */
  readonly onlyLocks?: true;
}

/**
 * The purpose of a change, which decides how much of a limited space it may use: new runs, threads and messages the
 * least, events of runs in progress more, the end of a run nearly all, and deletions and small changes (`any`) all of
 * it.
 */
export type SpaceUse = "create" | "append" | "end" | "any";

/** The answer to a statement. */
export interface Answer {
  readonly rows: readonly unknown[];
  readonly changes: number;
  /** Of an INSERT with `:returning_number`. */
  readonly number?: number | undefined;
}

/** A row with a body. */
export interface BodyRow {
  readonly body: Uint8Array;
}

/** A SELECT of rows with bodies. Only the first rows are read. */
export interface PageText {
  /** With its ORDER BY. */
  readonly text: string;
  /** The column of the rows by which they are ordered, and the direction. */
  readonly order: string;
  /** Returns the sum of the sizes of its bodies, without reading these. NULL: there is no row. */
  readonly bytes: string;
}

/**
 * Defines a page of rows with bodies.
 * @param columns The columns before the body.
 * @param rest The statement from FROM on.
 */
export function definePage(columns: string, body: string, rest: string, order: string): PageText {
  return {
    text: `SELECT ${columns}, ${body} ${rest}`,
    order,
    bytes: `SELECT sum(size) AS bytes FROM (SELECT octet_length(${body}) AS size ${rest}) AS page`,
  };
}

/** The first rows of a SELECT. */
export interface FirstRows<Row> {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
}

/** Executes statements inside a transaction. */
export interface Queries {
  /** Returns the rows that a statement returns. Numbers are JavaScript numbers, bytes are Uint8Arrays. */
  query<Row>(text: string, values: readonly Value[]): Promise<Row[]>;
  /** Executes statements without waiting for each one. Returns their answers in order. */
  execute(calls: readonly Call[]): Promise<Answer[]>;
}

/** The purpose of a read. Reads for callers may wait for each other, but never delay runs. */
export type Reader = "caller" | "run";

/** A database. Throws SDKErrors only. */
export interface Driver {
  /** Whether other processes may use the same data. */
  readonly isShared: boolean;
  readonly notices: LocalNotices;
  /** The space that may be used. Undefined: unlimited, as far as the driver knows. */
  readonly space: Space | undefined;
  /** Reads rows, outside of a transaction. By default for a caller. */
  read<Row>(text: string, values: readonly Value[], reader?: Reader): Promise<Row[]>;
  /** Reads the first rows whose bodies have at most `maxBytes` together, for a caller. The first row is always read. */
  readPage<Row extends BodyRow>(
    page: PageText,
    values: readonly Value[],
    maxBytes: number,
  ): Promise<FirstRows<Row>>;
  /** Executes statements as one transaction, in one round trip. Returns their answers in order. */
  batch(calls: readonly Call[], use: SpaceUse): Promise<Answer[]>;
  /** Executes `work` as a transaction. Repeats it after a conflict with another one. Rolls back if it throws. */
  transaction<Result>(use: SpaceUse, work: (queries: Queries) => Promise<Result>): Promise<Result>;
  /** Gives the space of deleted rows back to the system, in small steps. */
  shrink(): void;
  close(): Promise<void>;
}

/** The space of a database with a limit. */
export interface Space {
  readonly maxBytes: number;
  /** Name of the setting with the limit. */
  readonly setting: string;
  /** Whether the oldest runs are removed to make room. */
  readonly evicts: boolean;
  /** Used bytes, without deleted rows. */
  usedBytes(): number;
}

/** The size of a page of SQLite, and the estimated size of a row and its index entries without the body. */
const PAGE_BYTES = 4096;
const ROW_BYTES = 200;

/** Returns the space that the bodies of statements take, in bytes: a large one has separate pages. */
export function countBytes(calls: readonly Call[]): number {
  let sum = 0;
  for (const { values } of calls) {
    for (const value of values) if (value instanceof Uint8Array) sum += getBodySpace(value.byteLength);
  }
  return sum;
}

/** Returns the space that a body of this size takes, in bytes. */
export function getBodySpace(bytes: number): number {
  return bytes < PAGE_BYTES / 4 ? bytes + ROW_BYTES : Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES + ROW_BYTES;
}

/** Replaces the placeholders of a statement, or of a definition, by the words of a database. */
export function replaceWords(text: string, words: Readonly<Record<string, string>>): string {
  return text.replace(/:schema\.|:[a-z_]+\b/g, (word) => words[word] ?? word);
}

/** There is no connection to the database, or another program locks it, so nothing was executed. */
export class NotConnectedError extends StoreUnreachableError {}

/**
 * Notifies the subscribers in this process of changes of runs, after the commit. Drivers may notify other processes
 * too.
 */
export class LocalNotices {
  /** In objects, since the same listener may be subscribed twice. */
  readonly #subscriptions = new Map<string, Set<{ readonly listener: (notice: RunNotice) => void }>>();
  readonly #queueSubscriptions = new Set<{ readonly listener: () => void }>();

  announce(runId: string, notice: RunNotice): void {
    const subscriptions = this.#subscriptions.get(runId);
    if (subscriptions !== undefined) for (const { listener } of subscriptions) listener(notice);
  }

  announceQueued(): void {
    for (const { listener } of this.#queueSubscriptions) listener();
  }

  subscribe(runId: string, listener: (notice: RunNotice) => void): () => void {
    const subscriptions = this.#subscriptions.get(runId) ?? new Set();
    this.#subscriptions.set(runId, subscriptions);
    const subscription = { listener };
    subscriptions.add(subscription);
    return () => {
      subscriptions.delete(subscription);
      if (subscriptions.size === 0 && this.#subscriptions.get(runId) === subscriptions)
        this.#subscriptions.delete(runId);
    };
  }

  subscribeToQueue(listener: () => void): () => void {
    const subscription = { listener };
    this.#queueSubscriptions.add(subscription);
    return () => this.#queueSubscriptions.delete(subscription);
  }

  get runIds(): readonly string[] {
    return [...this.#subscriptions.keys()];
  }
}
