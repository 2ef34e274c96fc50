import { lazyBatches } from "../core/batches.ts";
import { ServerError } from "../core/errors.ts";
import type { RunEngine } from "./engine.ts";

/** An engine that is opened when it is first used. */
export interface LazyRunEngine extends RunEngine {
  /** Opens the engine now. If that fails, the next use tries again. */
  open(): Promise<void>;
}

/** An engine that is opened at its first use: a process without runs never loads it. */
export function createLazyRunEngine(openEngine: () => Promise<RunEngine>): LazyRunEngine {
  const opener = new Opener(openEngine);
  const engine = () => opener.open();
  return {
    open: async () => void (await engine()),
    createRun: async (...args) => (await engine()).createRun(...args),
    submitToolResults: async (...args) => (await engine()).submitToolResults(...args),
    getRun: async (...args) => (await engine()).getRun(...args),
    streamRun: (...args) => lazyBatches(async () => (await engine()).streamRun(...args)),
    cancelRun: async (...args) => (await engine()).cancelRun(...args),
    listRuns: async (...args) => (await engine()).listRuns(...args),
    deleteRun: async (...args) => (await engine()).deleteRun(...args),
    createThread: async (...args) => (await engine()).createThread(...args),
    getThread: async (...args) => (await engine()).getThread(...args),
    updateThread: async (...args) => (await engine()).updateThread(...args),
    deleteThread: async (...args) => (await engine()).deleteThread(...args),
    appendMessages: async (...args) => (await engine()).appendMessages(...args),
    listMessages: async (...args) => (await engine()).listMessages(...args),
    getMessage: async (...args) => (await engine()).getMessage(...args),
    findCall: async (...args) => (await engine()).findCall(...args),
    deleteMessage: async (...args) => (await engine()).deleteMessage(...args),
    drain: async () => (await opener.end())?.drain(),
    close: async () => (await opener.end())?.close(),
  };
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
