import { lazyBatches } from "../core/batches.ts";
import { ServerError } from "../core/errors.ts";
import type { RunEngine, ThreadEngine } from "./engine.ts";
import { StoreUnreachableError } from "./errors.ts";

/** Pauses between attempts to open the engine, in milliseconds: doubled from the first to the last. */
const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 10_000;

/** An engine that is opened when it is first used. */
export interface LazyRunEngine extends RunEngine {
  /** Opens the engine now. If that fails, the next use tries again. */
  open(): Promise<void>;
  /**
   * Opens the engine now. If its database is unavailable, tries again in the background until it succeeds.
   * @param onFailure Called with each failure to reach the database. Other failures are thrown.
   */
  openWhenReachable(onFailure: (error: Error) => void): Promise<void>;
}

/** An engine that is opened at its first use: a process without runs never loads it. */
export function createLazyRunEngine(openEngine: () => Promise<RunEngine>): LazyRunEngine {
  const opener = new Opener(openEngine);
  const engine = () => opener.open();
  return withMethods(engine, {
    threads: withMethods<ThreadEngine, object>(async () => (await engine()).threads, {}),
    streamRun: (...args: Parameters<RunEngine["streamRun"]>) =>
      lazyBatches(async () => (await engine()).streamRun(...args)),
    open: async () => void (await engine()),
    openWhenReachable: (onFailure: (error: Error) => void) => opener.openWhenReachable(onFailure),
    drain: async () => (await opener.end())?.drain(),
    close: async () => (await opener.end())?.close(),
  });
}

/** What has these members, and all methods of something that is opened when one of them is called. */
function withMethods<Target extends object, Members extends object>(
  open: () => Promise<Target>,
  members: Members,
): Target & Members {
  return new Proxy(members as Target & Members, {
    get: (_target, name) => {
      // Without `then`, since a promise of the result would call it.
      if (name === "then" || Reflect.has(members, name)) return Reflect.get(members, name);
      return async (...parameters: unknown[]) => {
        const target = await open();
        const method: unknown = Reflect.get(target, name);
        return typeof method === "function" ? method.apply(target, parameters) : method;
      };
    },
  });
}

/** Opens an engine once, and never again after its end. */
class Opener {
  readonly #openEngine: () => Promise<RunEngine>;
  #opened: Promise<RunEngine> | undefined;
  #hasEnded = false;

  constructor(openEngine: () => Promise<RunEngine>) {
    this.#openEngine = openEngine;
  }

  open(): Promise<RunEngine> {
    this.#opened ??= this.#hasEnded
      ? Promise.reject(new ServerError("the sidecar is shutting down and starts no more runs"))
      : this.#tryToOpen();
    return this.#opened;
  }

  async openWhenReachable(onFailure: (error: Error) => void): Promise<void> {
    try {
      await this.open();
    } catch (error) {
      if (!(error instanceof StoreUnreachableError)) throw error;
      onFailure(error);
      this.#retryLater(onFailure, FIRST_PAUSE_MS);
    }
  }

  #retryLater(onFailure: (error: Error) => void, pauseMs: number): void {
    const timer = setTimeout(() => {
      if (this.#hasEnded) return;
      this.open().catch((error: Error) => {
        onFailure(error);
        this.#retryLater(onFailure, Math.min(LAST_PAUSE_MS, 2 * pauseMs));
      });
    }, pauseMs);
    timer.unref();
  }

  /** The engine, if it was opened. */
  async end(): Promise<RunEngine | undefined> {
    this.#hasEnded = true;
    return this.#opened?.catch(() => undefined);
  }

  async #tryToOpen(): Promise<RunEngine> {
    try {
      return await this.#openEngine();
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }
}
