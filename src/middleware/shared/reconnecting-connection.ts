import { setTimeout as delay } from "node:timers/promises";

/** The shared counts cannot be used now. The message names the server and the reason, without a password. */
export class UnavailableError extends Error {
  /** The kind of failure, for metrics. */
  readonly reason: FailureReason;
  /** The result that was not awaited. It may still come. */
  readonly late: Promise<unknown> | undefined;

  constructor(message: string, reason: FailureReason, late?: Promise<unknown>) {
    super(message);
    this.reason = reason;
    this.late = late;
  }
}

/** `timeout`: no answer in time. `connection`: no connection. `refused`: the server answered with an error. */
export type FailureReason = "timeout" | "connection" | "refused";

/** The wording of a failure. */
export interface Failure {
  readonly problem: string;
  readonly reason: FailureReason;
}

/** How connections to a server are made and used. */
export interface ConnectionKind<Connection> {
  /** The server in messages, such as `Valkey at cache:6379`, without the name and the password of a user. */
  readonly server: string;
  /** Milliseconds that a command may take. */
  readonly timeoutMs: number;
  /** Resolves once the server accepts commands. */
  connect(): Promise<Connection>;
  /** Resolves if the server takes a write. */
  probe(connection: Connection): Promise<unknown>;
  /** Ends a connection. Must not throw. */
  close(connection: Connection): void;
  /** @param onBreak Called when the connection breaks. */
  follow(connection: Connection, onBreak: (thrown: unknown) => void): void;
  describe(thrown: unknown): Failure;
}

/** Is notified of the state of a server. No method may throw. */
export interface ConnectionObserver {
  /** @param problem Undefined if the server can be used. Called at the first connection, and when that changes. */
  changed(problem: string | undefined): void;
  failed(reason: FailureReason): void;
}

/**
 * Milliseconds until the first attempt to connect again. Each further one waits twice as long, up to the maximum, until
 * the server could be used for that long.
 */
const MIN_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;

/** Milliseconds that connecting may take, and in which a server must answer a probe after a command timed out. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Maximum number of commands that wait for an answer. */
const MAX_PENDING = 5_000;

/**
 * Keeps a connection to a server: reconnects with growing delays, and rejects commands at once while the server is
 * unavailable, so that no call waits for it twice.
 */
export class ReconnectingConnection<Connection> {
  readonly #kind: ConnectionKind<Connection>;
  readonly #observer: ConnectionObserver;
  readonly #closing = new AbortController();
  /** Resolved at the first connection or the first failure. */
  readonly #known = Promise.withResolvers<void>();
  /** Undefined while the server is unavailable. */
  #connection: Connection | undefined;
  #problem: string | undefined = "not connected yet";
  /** The state that was last reported to the observer. */
  #reported: "up" | "away" | undefined;
  #pending = 0;
  #onTrouble: (thrown: unknown) => void = () => {};

  constructor(kind: ConnectionKind<Connection>, observer: ConnectionObserver) {
    this.#kind = kind;
    this.#observer = observer;
    void this.#reconnect();
  }

  get server(): string {
    return this.#kind.server;
  }

  /** Why the server cannot be used; undefined if it can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Waits until the first attempt to reach the server has succeeded or failed, for some seconds at most. */
  ready(): Promise<void> {
    return this.#known.promise;
  }

  /**
   * Executes commands.
   * @throws UnavailableError if the server is unavailable, refuses the command, or does not answer in time.
   */
  async use<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    const connection = this.#connection;
    if (connection === undefined) throw this.#fail(this.#problem ?? "not connected", "connection");
    if (this.#pending >= MAX_PENDING) throw this.#fail(`${MAX_PENDING} commands wait for answers`, "timeout");
    this.#pending += 1;
    const answer = work(connection).finally(() => {
      this.#pending -= 1;
    });
    try {
      return await within(answer, this.#kind.timeoutMs);
    } catch (thrown) {
      const { problem, reason } = this.#describe(thrown);
      if (this.#connection === connection) this.#onUnavailable(problem, thrown);
      throw this.#fail(problem, reason, thrown instanceof Timeout ? answer : undefined);
    }
  }

  /** Waits for commands in progress, for a second at most, and disconnects. */
  async close(): Promise<void> {
    const end = performance.now() + 1000;
    while (this.#pending > 0 && performance.now() < end) await delay(10);
    this.#closing.abort();
  }

  async #reconnect(): Promise<void> {
    const { signal } = this.#closing;
    for (let backoffMs = MIN_BACKOFF_MS; !signal.aborted; ) {
      const servedMs = await this.#serve();
      if (servedMs > MAX_BACKOFF_MS) backoffMs = MIN_BACKOFF_MS;
      // Sidecars that lost the same server must not all reconnect at the same moment.
      const waitMs = backoffMs * (0.5 + Math.random());
      backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Serves commands until one fails. Returns for how many milliseconds it did. */
  async #serve(): Promise<number> {
    const { signal } = this.#closing;
    const closed = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    let connection: Connection | undefined;
    let upSince = Number.POSITIVE_INFINITY;
    try {
      connection = await this.#connect();
      this.#kind.follow(connection, (thrown) => this.#onUnavailable(this.#describe(thrown).problem, thrown));
      while (!signal.aborted) {
        const trouble = Promise.withResolvers<unknown>();
        this.#onTrouble = trouble.resolve;
        // A server that was only slow answers on the same connection, after the earlier commands.
        await within(this.#kind.probe(connection), CONNECT_TIMEOUT_MS);
        this.#onAvailable(connection);
        upSince = Math.min(upSince, performance.now());
        const thrown = await Promise.race([trouble.promise, closed]);
        if (!(thrown instanceof Timeout)) break;
      }
    } catch (thrown) {
      this.#onUnavailable(this.#describe(thrown).problem, thrown);
    } finally {
      this.#connection = undefined;
      if (connection !== undefined) this.#kind.close(connection);
    }
    return Math.max(0, performance.now() - upSince);
  }

  async #connect(): Promise<Connection> {
    const connecting = this.#kind.connect();
    try {
      return await within(connecting, CONNECT_TIMEOUT_MS);
    } catch (thrown) {
      connecting.then((late) => this.#kind.close(late)).catch(() => {});
      throw thrown;
    }
  }

  #onAvailable(connection: Connection): void {
    this.#connection = connection;
    this.#problem = undefined;
    this.#report("up");
  }

  #onUnavailable(problem: string, thrown: unknown): void {
    this.#connection = undefined;
    this.#problem = problem;
    this.#report("away");
    this.#onTrouble(thrown);
  }

  #report(state: "up" | "away"): void {
    if (state === this.#reported || this.#closing.signal.aborted) return;
    this.#reported = state;
    this.#known.resolve();
    this.#observer.changed(this.#problem);
  }

  #describe(thrown: unknown): Failure {
    if (!(thrown instanceof Timeout)) return this.#kind.describe(thrown);
    return { problem: thrown.message, reason: "timeout" };
  }

  #fail(problem: string, reason: FailureReason, late?: Promise<unknown>): UnavailableError {
    this.#observer.failed(reason);
    late?.catch(() => {});
    return new UnavailableError(`${this.#kind.server}: ${problem}`, reason, late);
  }
}

class Timeout extends Error {}

async function within<Result>(answer: Promise<Result>, ms: number): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Timeout(`no answer within ${ms} ms`)), ms);
  try {
    return await Promise.race([answer, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Handling of a call if shared counts cannot be reached: each sidecar counts separately, the call is rejected, or it
 * passes uncounted.
 */
export type WhenAway = "local" | "refuse" | "allow";
