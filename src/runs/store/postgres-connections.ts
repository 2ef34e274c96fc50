import { Pool, type PoolClient, type PoolConfig, types } from "pg";
import { RateLimitError, ServerError } from "../../core/errors.ts";
import { isConnectionUsable, toConnectError } from "./postgres-failures.ts";

/** Time limits in milliseconds. A statement that takes longer waits for a lock or for a disk that does not answer. */
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 20_000;
/** For a network that drops packets: longer than the database's own limit, which frees its locks. */
const ANSWER_TIMEOUT_MS = 25_000;

/** How long a call waits for a free connection, in milliseconds. */
const WAIT_TIMEOUT_MS = 10_000;

/** Calls that wait for a connection, at most: some for each of a thousand runs. */
const MAX_WAITING = 5_000;

/** OID of BIGINT. Times in milliseconds and counts fit a number. */
const INT8 = types.builtins.INT8;

/** Settings of every connection. */
export function createConnectionSettings(url: string): PoolConfig {
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

interface Waiting {
  readonly start: () => void;
  readonly timer: NodeJS.Timeout;
}

/** Lends connections, in the order of the calls. */
export class Connections {
  readonly #pool: Pool;
  readonly #waiting = new Set<Waiting>();
  #free: number;
  readonly #size: number;
  /** Set by `close`. Called when the last call has ended. */
  #onIdle: (() => void) | undefined;

  constructor(url: string, size: number) {
    this.#free = size;
    this.#size = size;
    // Pipelined: statements that need no answer of others cost no round trip of their own.
    this.#pool = new Pool({ ...createConnectionSettings(url), max: size, pipeline: true });
    // A connection that breaks fails the statements that are under way on it; idle ones are replaced.
    this.#pool.on("connect", (client) => client.on("error", ignore));
    this.#pool.on("error", ignore);
  }

  /** @throws RateLimitError if no connection gets free in time; NotConnectedError. */
  async use<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    if (this.#onIdle !== undefined) throw new ServerError("the store of runs is closed");
    await this.#waitForFree();
    try {
      return await this.#withClient(work);
    } finally {
      this.#passOn();
    }
  }

  /** Refuses new calls, and resolves when all others have ended. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      this.#checkIdle();
    });
    await this.#pool.end();
  }

  #checkIdle(): void {
    if (this.#free === this.#size) this.#onIdle?.();
  }

  #waitForFree(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    if (this.#waiting.size >= MAX_WAITING) return Promise.reject(createBusyError());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        reject(createBusyError());
      }, WAIT_TIMEOUT_MS);
      const waiting = { start: resolve, timer };
      this.#waiting.add(waiting);
    });
  }

  /** Gives the place of a call that has ended to the next one. */
  #passOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      this.#checkIdle();
      return;
    }
    this.#waiting.delete(next);
    clearTimeout(next.timer);
    next.start();
  }

  async #withClient<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect().catch((thrown: unknown) => {
      throw toConnectError(thrown);
    });
    let isBroken = false;
    const noteBreak = () => {
      isBroken = true;
    };
    client.once("error", noteBreak);
    try {
      return await work(client);
    } catch (thrown) {
      isBroken ||= !isConnectionUsable(thrown);
      throw thrown;
    } finally {
      client.removeListener("error", noteBreak);
      client.release(isBroken);
    }
  }
}

function createBusyError(): RateLimitError {
  return new RateLimitError(
    "all connections to the database of runs are busy; raise runs.postgres.pool_size if this happens often",
    { retryAfter: 1 },
  );
}

function ignore(): void {}
