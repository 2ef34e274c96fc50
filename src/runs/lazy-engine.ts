/** Opens an engine and a store lazily, and reports the state of a store. */
import { lazyBatches } from "../core/batches.ts";
import { ServerError, toSdkError } from "../core/errors.ts";
import { isOutage, StoreFullError, StoreUnreachableError } from "./errors.ts";
import type { RunEngine } from "./run-engine.ts";
import type { RunStore } from "./store.ts";
import type { Threads } from "./threads.ts";

/** Delays between attempts to open a store, in milliseconds: doubled from the first to the last. */
const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 10_000;

/**
 * Creates an engine that is opened at its first use: a process without runs never loads it. If that fails, the next use
 * tries again.
 */
export function createLazyRunEngine(openEngine: () => Promise<RunEngine>): RunEngine {
  const opener = new Opener(openEngine);
  return withMethods<RunEngine>(() => opener.open(), {
    threads: withMethods<Threads>(async () => (await opener.open()).threads, {}),
    streamRun: (...args) => lazyBatches(async () => (await opener.open()).streamRun(...args)),
    drain: async () => (await opener.end())?.drain(),
    close: async () => (await opener.end())?.close(),
  });
}

/**
 * Opens a store. If its database is unavailable, returns a store whose methods fail until it could be opened, by a
 * method or in the background. Runs that are not stored need not wait for that.
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
  return withMethods<RunStore>(() => opener.open(), {
    isShared: true,
    subscribe: (runId, listener) => subscribe((store) => store.subscribe(runId, listener)),
    subscribeToQueue: (listener) => subscribe((store) => store.subscribeToQueue(listener)),
    releaseLease: async (holder) => (await opener.end())?.releaseLease(holder),
    close: async () => (await opener.end())?.close(),
  });
}

/** Returns `members` with all other methods of a target, which is opened at the first call. */
function withMethods<Target extends object>(open: () => Promise<Target>, members: Partial<Target>): Target {
  return new Proxy(members as Target, {
    get: (_target, name) => {
      // No `then`: a promise that resolves to the proxy would call it.
      if (name === "then" || Reflect.has(members, name)) return Reflect.get(members, name);
      return async (...parameters: unknown[]) => {
        const target = await open();
        const method: unknown = Reflect.get(target, name);
        return typeof method === "function" ? method.apply(target, parameters) : method;
      };
    },
  });
}

/** Opens an engine or a store once, and never after `end`. */
class Opener<Opened> {
  readonly #open: () => Promise<Opened>;
  readonly #first = Promise.withResolvers<Opened>();
  #opening: Promise<Opened> | undefined;
  #hasEnded = false;

  constructor(open: () => Promise<Opened>) {
    this.#open = open;
  }

  /** Resolves when an attempt has succeeded. */
  get opened(): Promise<Opened> {
    return this.#first.promise;
  }

  open(): Promise<Opened> {
    this.#opening ??= this.#hasEnded
      ? Promise.reject(new ServerError("the sidecar is shutting down and does not start more runs"))
      : this.#tryToOpen();
    return this.#opening;
  }

  /** Retries in the background until an attempt succeeds. */
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

/** The state of a store: `full` has no space for new content. */
export type StoreState = "ok" | "full" | "unreachable";

/** Methods that write new content. Their success shows that there is space. */
const WRITES: readonly (string | symbol)[] = ["createRun", "createThread", "appendMessages", "write"];

/**
 * Methods whose failure means that nothing can be written. Reads may succeed nevertheless, for instance if the file of
 * a database was removed that is still open. A lease is renewed periodically.
 */
const ALL_WRITES: readonly (string | symbol)[] = [...WRITES, "renewLease"];

/**
 * Returns a store that reports its state, derived from the results of its calls.
 * @param onChange Called when the state changes, with the problem if there is one. The first state is `ok`.
 */
export function watchStore(
  store: RunStore,
  onChange: (state: StoreState, problem: string) => void,
): RunStore {
  let state: StoreState = "ok";
  /** Whether the store is unreachable because a write failed. */
  let refusesWrites = false;
  const change = (next: StoreState, problem = "") => {
    if (next === state) return;
    state = next;
    onChange(next, problem);
  };
  const fail = (thrown: unknown, isWrite: boolean) => {
    if (thrown instanceof StoreFullError) return change("full", thrown.message);
    if (!isOutage(thrown)) return;
    refusesWrites = isWrite || (refusesWrites && state === "unreachable");
    change("unreachable", toSdkError(thrown).message);
  };
  const watched = new Map<string | symbol, unknown>();
  return new Proxy(store, {
    get(target, name) {
      const known = watched.get(name);
      if (known !== undefined) return known;
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      const isWrite = ALL_WRITES.includes(name);
      const succeed = () => {
        if (state === "unreachable" ? isWrite || !refusesWrites : WRITES.includes(name)) change("ok");
      };
      const failed = (thrown: unknown) => fail(thrown, isWrite);
      // An async function would retain the parameters until the store has written them.
      const method = (...parameters: unknown[]): unknown => {
        const result: unknown = member.apply(target, parameters);
        if (result instanceof Promise) result.then(succeed, failed);
        return result;
      };
      watched.set(name, method);
      return method;
    },
  });
}
