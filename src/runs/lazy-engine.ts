/** An engine and a store that are opened later than they are created. */
import { lazyBatches } from "../core/batches.ts";
import { ServerError } from "../core/errors.ts";
import type { RunEngine, ThreadEngine } from "./engine.ts";
import { StoreUnreachableError } from "./errors.ts";
import type { Holder, RunNotice, RunStore } from "./store.ts";

/** Pauses between attempts to open a store, in milliseconds: doubled from the first to the last. */
const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 10_000;

/** An engine that is opened when it is first used. */
export interface LazyRunEngine extends RunEngine {
  /** Opens the engine now. If that fails, the next use tries again. */
  open(): Promise<void>;
}

/** Creates an engine that is opened at its first use: a process without runs never loads it. */
export function createLazyRunEngine(openEngine: () => Promise<RunEngine>): LazyRunEngine {
  const opener = new Opener(openEngine);
  const engine = () => opener.open();
  return withMethods(engine, {
    threads: withMethods<ThreadEngine, object>(async () => (await engine()).threads, {}),
    streamRun: (...args: Parameters<RunEngine["streamRun"]>) =>
      lazyBatches(async () => (await engine()).streamRun(...args)),
    open: async () => void (await engine()),
    drain: async () => (await opener.end())?.drain(),
    close: async () => (await opener.end())?.close(),
  });
}

/**
 * Opens a store. If its database is unavailable, returns one whose methods fail until an attempt in the background, or
 * of a method, succeeds: runs that are not stored need not wait for that.
 * @param onFailure Called with each failure to reach the database. Other failures of the first attempt are thrown.
 */
export async function openWhenReachable(
  openStore: () => Promise<RunStore>,
  onFailure: (error: Error) => void,
): Promise<RunStore> {
  const opener = new Opener(openStore);
  try {
    return await opener.open();
  } catch (error) {
    if (!(error instanceof StoreUnreachableError)) throw error;
    onFailure(error);
    opener.retryLater(onFailure, FIRST_PAUSE_MS);
    return createLazyStore(opener);
  }
}

function createLazyStore(opener: Opener<RunStore>): RunStore {
  let opened: RunStore | undefined;
  const waiting = new Set<(store: RunStore) => void>();
  void opener.opened.then((store) => {
    opened = store;
    for (const attach of waiting) attach(store);
    waiting.clear();
  });
  const subscribe = (attach: (store: RunStore) => () => void) => {
    if (opened !== undefined) return attach(opened);
    let detach: (() => void) | undefined;
    const attachLater = (store: RunStore) => {
      detach = attach(store);
    };
    waiting.add(attachLater);
    return () => {
      waiting.delete(attachLater);
      detach?.();
    };
  };
  return withMethods(() => opener.open(), {
    isShared: true,
    subscribe: (runId: string, listener: (notice: RunNotice) => void) =>
      subscribe((store) => store.subscribe(runId, listener)),
    subscribeToQueue: (listener: () => void) => subscribe((store) => store.subscribeToQueue(listener)),
    leave: async (holder: Holder) => (await opener.end())?.leave(holder),
    close: async () => (await opener.end())?.close(),
  });
}

/** Returns `members`, with all other methods of a target that is opened when one of them is called. */
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

/** Opens an engine or a store once, and never again after its end. */
class Opener<Opened> {
  readonly #open: () => Promise<Opened>;
  readonly #first = Promise.withResolvers<Opened>();
  /** Resolves when an attempt has succeeded. */
  readonly opened = this.#first.promise;
  #opening: Promise<Opened> | undefined;
  #hasEnded = false;

  constructor(open: () => Promise<Opened>) {
    this.#open = open;
  }

  open(): Promise<Opened> {
    this.#opening ??= this.#hasEnded
      ? Promise.reject(new ServerError("the sidecar is shutting down and starts no more runs"))
      : this.#tryToOpen();
    return this.#opening;
  }

  /** Tries again in the background until that succeeds. */
  retryLater(onFailure: (error: Error) => void, pauseMs: number): void {
    const timer = setTimeout(() => {
      if (this.#hasEnded) return;
      this.open().catch((error: Error) => {
        onFailure(error);
        this.retryLater(onFailure, Math.min(LAST_PAUSE_MS, 2 * pauseMs));
      });
    }, pauseMs);
    timer.unref();
  }

  async end(): Promise<Opened | undefined> {
    this.#hasEnded = true;
    return this.#opening?.catch(() => undefined);
  }

  async #tryToOpen(): Promise<Opened> {
    try {
      const opened = await this.#open();
      this.#first.resolve(opened);
      return opened;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }
}
