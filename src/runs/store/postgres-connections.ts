import { DatabaseError, Pool, type PoolClient, type PoolConfig, types } from "pg";
import { InternalError, RateLimitError, SDKError, ServerError } from "../../core/errors.ts";
import { StoreFullError, StoreUnreachableError } from "../errors.ts";
import { NotConnectedError } from "./driver.ts";

/** Time limits in milliseconds. A statement that takes longer waits for a lock or for a disk that does not answer. */
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 20_000;
/** For a network that drops packets: longer than the database's own limit, which frees its locks. */
const ANSWER_TIMEOUT_MS = 25_000;

/** How long a call waits for a free connection, in milliseconds. */
const WAIT_TIMEOUT_MS = 10_000;

/** Maximum number of calls that wait for a connection: several for each of a thousand runs. */
const MAX_WAITING = 5_000;

/** OID of BIGINT, which is read as a number: times in milliseconds and counts fit into one. */
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
    // Pipelined: statements that need no answer of others cost no extra round trip.
    this.#pool = new Pool({ ...createConnectionSettings(url), max: size, pipeline: true });
    // A connection that breaks fails the statements that are in progress on it; idle ones are replaced.
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
      this.#releaseSlot();
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

  /** Gives the connection of a call that has ended to the next one. */
  #releaseSlot(): void {
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

/** Messages for callers by the class of the SQLSTATE, its first two characters. */
const SQLSTATE_CLASSES: ReadonlyMap<string, string> = new Map([
  ["08", "the connection to the database of runs broke"],
  ["28", "the database of runs refused the sidecar's credentials"],
  ["3D", "the database of runs does not exist"],
  ["53", "the database of runs is out of resources"],
  ["57", "the database of runs is shutting down or took too long"],
]);

/** Messages for SQLSTATEs that are more specific than their class. */
const SQLSTATES: ReadonlyMap<string, string> = new Map([
  ["08P01", "the database of runs, or a pooler before it, refuses a parameter of the connection"],
  ["25006", "the database of runs is read-only"],
  ["26000", "a pooler before the database of runs does not keep prepared statements"],
  ["40001", "the database of runs is too busy"],
  ["40P01", "the database of runs is too busy"],
  ["42P05", "a pooler before the database of runs does not keep prepared statements"],
  ["42501", "the sidecar's role lacks rights that it needs in the database of runs"],
  ["53300", "the database of runs has no free connections"],
  ["57014", "the database of runs took too long"],
]);

const DISK_FULL = "53100";
const READ_ONLY = "25006";

/** SQLSTATEs and classes for a server that is shutting down, starting up, or out of connections. */
const UNREACHABLE: ReadonlySet<string> = new Set(["08", "25006", "53300", "57P01", "57P02", "57P03"]);

/** SQLSTATEs of transactions that disturbed each other: the same transaction can succeed at once. */
const REPEATABLE: ReadonlySet<string> = new Set(["40001", "40P01"]);

/**
 * Returns the error for the failure of a statement. Neither its message nor its cause holds text of PostgreSQL or of
 * `pg`: they quote values, which are content of runs, and connection strings.
 */
export function toStoreError(thrown: unknown): SDKError {
  if (thrown instanceof SDKError) return thrown;
  const code = getSqlState(thrown);
  if (code === undefined) {
    return new StoreUnreachableError(`the database of runs cannot be reached (${getReason(thrown)})`);
  }
  if (code === DISK_FULL) {
    return new StoreFullError(`the disk of the database of runs is full (SQLSTATE ${code})`);
  }
  const reason = SQLSTATES.get(code) ?? SQLSTATE_CLASSES.get(code.slice(0, 2));
  if (reason === undefined) {
    return new InternalError(`the database of runs refused a statement (SQLSTATE ${code})`);
  }
  const message = `${reason} (SQLSTATE ${code})`;
  const isUnreachable = UNREACHABLE.has(code) || UNREACHABLE.has(code.slice(0, 2));
  return isUnreachable ? new StoreUnreachableError(message) : new ServerError(message);
}

/** Returns the error for the failure to connect. */
export function toConnectError(thrown: unknown): SDKError {
  const failure = toStoreError(thrown);
  return failure instanceof StoreUnreachableError ? new NotConnectedError(failure.message) : failure;
}

/** Reports whether the transaction can be repeated at once. */
export function isRepeatable(thrown: unknown): boolean {
  return REPEATABLE.has(getSqlState(thrown) ?? "");
}

/**
 * Reports whether the connection can be used further: the server answered, or the failure is not one of the connection.
 * A read-only server may be a standby, which was reached during a failover: a new connection leads to the primary.
 */
export function isConnectionUsable(thrown: unknown): boolean {
  if (getSqlState(thrown) === READ_ONLY) return false;
  return thrown instanceof SDKError || (thrown instanceof DatabaseError && thrown.severity === "ERROR");
}

/** Returns the SQLSTATE of a failure. Undefined if the server did not report it. */
function getSqlState(thrown: unknown): string | undefined {
  return thrown instanceof DatabaseError ? thrown.code : undefined;
}

/** Returns a code of the system, such as ECONNREFUSED; `pg` reports other failures by messages alone. */
function getReason(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "unknown";
  if ("code" in thrown && typeof thrown.code === "string") return thrown.code;
  return /timeout/i.test(thrown.message) ? "timeout" : "connection lost";
}
