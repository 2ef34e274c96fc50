import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { RunStore } from "../store.ts";
import {
  type Answer,
  type Call,
  type Driver,
  type FirstRows,
  LocalNotices,
  type PageText,
  type Queries,
  type SpaceUse,
  type Value,
} from "./driver.ts";
import { openStore, type StoreOptions } from "./open-store.ts";
import { openSqlite, toSqlite, toStoreError } from "./sqlite-file.ts";

/** The smallest driver: SQLite in memory, one statement after the other. */
export class PlainDriver implements Driver {
  readonly isShared = false;
  readonly notices = new LocalNotices();
  readonly space = undefined;
  readonly #connection: DatabaseSync;
  #last: Promise<unknown> = Promise.resolve();

  constructor(connection: DatabaseSync) {
    this.#connection = connection;
  }

  read<Row>(text: string, values: readonly Value[]): Promise<Row[]> {
    return this.#inOrder(() => this.#all<Row>(text, values));
  }

  async readPage<Row extends { readonly body: Uint8Array }>(
    { text }: PageText,
    values: readonly Value[],
    maxBytes: number,
  ): Promise<FirstRows<Row>> {
    const rows = await this.read<Row>(text, values);
    let bytes = 0;
    const isTooMuch = ({ body }: Row, index: number) => {
      bytes += body.byteLength;
      return index > 0 && bytes > maxBytes;
    };
    const end = rows.findIndex(isTooMuch);
    return end < 0 ? { rows, hasMore: false } : { rows: rows.slice(0, end), hasMore: true };
  }

  batch(calls: readonly Call[], use: SpaceUse): Promise<Answer[]> {
    return this.transaction(use, ({ execute }) => execute(calls));
  }

  transaction<Result>(_use: SpaceUse, work: (queries: Queries) => Promise<Result>): Promise<Result> {
    return this.#inOrder(async () => {
      this.#connection.exec("BEGIN");
      try {
        const result = await work({
          query: async <Row>(text: string, values: readonly Value[]) => this.#all<Row>(text, values),
          execute: async (calls) => calls.map((call) => this.#answer(call)),
        });
        this.#connection.exec("COMMIT");
        return result;
      } catch (thrown) {
        this.#connection.exec("ROLLBACK");
        throw thrown;
      }
    });
  }

  shrink(): void {}

  async close(): Promise<void> {
    await this.#last;
    this.#connection.close();
  }

  #inOrder<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const done = this.#last.then(work).catch((thrown: unknown) => {
      throw toStoreError(thrown);
    });
    this.#last = done.catch(() => {});
    return done;
  }

  #answer({ text, values }: Call): Answer {
    const rows = this.#all(text, values);
    const state = this.#connection
      .prepare("SELECT changes() AS changes, last_insert_rowid() AS number")
      .get();
    return { rows, changes: rows.length || Number(state?.changes), number: Number(state?.number) };
  }

  #all<Row>(text: string, values: readonly Value[]): Row[] {
    const bound = values.map((value) => (Array.isArray(value) ? JSON.stringify(value) : value));
    return this.#connection.prepare(toSqlite(text)).all(...(bound as SQLInputValue[])) as Row[];
  }
}

/** Opens an empty store. */
export async function openPlainStore(options: StoreOptions): Promise<RunStore> {
  const { connection } = await openSqlite({ kind: "memory", maxBytes: 2 ** 26 }, options.onProblem);
  return openStore(new PlainDriver(connection), options, "plain");
}
