import { Pool, type PoolClient, type PoolConfig, types } from "pg";
import { SDKError } from "../../../core/errors.ts";
import { connectFailure, isAnswered, isRepeatable, storeFailure } from "./failures.ts";

/** An SQL statement. `:schema` in its text stands for the name of the schema. */
export interface Statement {
  /** Name under which connections keep the statement prepared. Unique. */
  readonly name: string;
  readonly text: string;
}

/** The types of parameters of statements. */
export type Value =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | readonly (string | number | Uint8Array | null)[];

/** Runs statements: on any connection, or inside of a transaction. */
export interface Queries {
  /** The rows of the result. */
  query<Row>(statement: Statement, values: readonly Value[]): Promise<Row[]>;
  /** Runs text that names its schema itself. Without values, it may be several statements. */
  execute(text: string, values?: readonly unknown[]): Promise<{ rows: unknown[] }>;
}

/** Options of a database. */
export interface DatabaseOptions {
  /** Connection string: `postgres://user:password@host:5432/database?sslmode=verify-full`. */
  readonly url: string;
  /** Schema of the tables: lower-case letters, digits and `_`, at most 40. */
  readonly schema: string;
  /** Maximum number of connections for statements. */
  readonly poolSize: number;
}

/** How often a transaction is tried that others disturb. */
const MAX_ATTEMPTS = 5;

/** Time limits in milliseconds. A statement that takes longer waits for a lock or for a disk that does not answer. */
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 20_000;
/** For a network that drops packets: longer than the database's own limit, which frees its locks. */
const ANSWER_TIMEOUT_MS = 25_000;

/** OID of BIGINT. Times in milliseconds and counts fit a number. */
const INT8 = types.builtins.INT8;

/** Settings of every connection. */
export function connectionSettings(url: string): PoolConfig {
  return {
    connectionString: url,
    application_name: "outrigger",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
    types: {
      getTypeParser: (oid: number, format?: "text" | "binary") =>
        oid === INT8 && format !== "binary" ? Number : types.getTypeParser(oid, format),
    },
  };
}

/** A pool of connections to one database. Throws SDKErrors only. */
export class Database implements Queries {
  readonly schema: string;
  readonly #pool: Pool;
  /** Statements with the name of the schema, by their names. */
  readonly #prepared = new Map<string, Statement>();

  constructor({ url, schema, poolSize }: DatabaseOptions) {
    this.schema = schema;
    // Pipelined: what does not depend on an answer, such as BEGIN, costs no round trip.
    this.#pool = new Pool({ ...connectionSettings(url), max: poolSize, pipeline: true });
    // A connection that breaks fails the statements that are under way on it; idle ones are replaced.
    this.#pool.on("connect", (client) => client.on("error", ignore));
    this.#pool.on("error", ignore);
  }

  async query<Row>(statement: Statement, values: readonly Value[]): Promise<Row[]> {
    return this.#attempt(() => this.#withClient((client) => this.#run<Row>(client, statement, values)));
  }

  async execute(text: string, values?: readonly unknown[]): Promise<{ rows: unknown[] }> {
    return this.#attempt(() => this.executeRaw(text, values));
  }

  /** As `execute`, and throws what `pg` throws: for a library that reads its messages. */
  async executeRaw(text: string, values?: readonly unknown[]): Promise<{ rows: unknown[] }> {
    // What fails may have begun a transaction of its own.
    return this.#withClient(
      (client) => client.query(text, values?.slice()),
      () => false,
    );
  }

  /** Runs `work` in a transaction, and repeats it after a conflict with another one. An error of `work` rolls back. */
  async transaction<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result> {
    return this.#attempt(() => this.#withClient((client) => this.#transact(client, work)));
  }

  /** Resolves when the current statements have ended. */
  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #transact<Result>(client: PoolClient, work: (queries: Queries) => Promise<Result>): Promise<Result> {
    const begun = client.query("BEGIN");
    // Reported by the statements that follow.
    begun.catch(ignore);
    try {
      const result = await work({
        query: (statement, values) => this.#run(client, statement, values),
        execute: (text, values) => client.query(text, values?.slice()),
      });
      await begun;
      await client.query("COMMIT");
      return result;
    } catch (thrown) {
      await client.query("ROLLBACK").catch(ignore);
      throw thrown;
    }
  }

  async #run<Row>(client: PoolClient, { name, text }: Statement, values: readonly Value[]): Promise<Row[]> {
    let prepared = this.#prepared.get(name);
    if (prepared === undefined) {
      prepared = { name: `outrigger_${name}`, text: text.replaceAll(":schema", this.schema) };
      this.#prepared.set(name, prepared);
    }
    const { rows } = await client.query({ ...prepared, values: values.slice() });
    return rows;
  }

  /** @param isUsable Whether the connection can be used further after what `work` threw. */
  async #withClient<Result>(
    work: (client: PoolClient) => Promise<Result>,
    isUsable: (thrown: unknown) => boolean = isAnsweredOrOwn,
  ): Promise<Result> {
    const client = await this.#connect();
    let broken = false;
    const noteBreak = () => {
      broken = true;
    };
    client.once("error", noteBreak);
    try {
      return await work(client);
    } catch (thrown) {
      broken ||= !isUsable(thrown);
      throw thrown;
    } finally {
      client.removeListener("error", noteBreak);
      client.release(broken);
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (thrown) {
      throw connectFailure(thrown);
    }
  }

  async #attempt<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work();
      } catch (thrown) {
        if (attempt === MAX_ATTEMPTS || !isRepeatable(thrown)) throw storeFailure(thrown);
      }
    }
  }
}

/** A connection that did not answer in time may still be at work. Our own errors come from transactions, rolled back. */
function isAnsweredOrOwn(thrown: unknown): boolean {
  return thrown instanceof SDKError || isAnswered(thrown);
}

function ignore(): void {}
