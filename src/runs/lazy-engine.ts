import { lazyBatches } from "../core/batches.ts";
import { ServerError } from "../core/errors.ts";
import type { RunEngine, ThreadEngine } from "./engine.ts";

/** An engine that is opened when it is first used. */
export interface LazyRunEngine extends RunEngine {
  /** Opens the engine now. If that fails, the next use tries again. */
  open(): Promise<void>;
}

/** An engine that is opened at its first use: a process without runs never loads it. */
export function createLazyRunEngine(openEngine: () => Promise<RunEngine>): LazyRunEngine {
  const opener = new Opener(openEngine);
  const engine = () => opener.open();
  const methods: Methods<RunEngine, RunMethod> = forwarding(RUN_METHODS, engine);
  const threads: ThreadEngine = forwarding(THREAD_METHODS, async () => (await engine()).threads);
  return {
    ...methods,
    threads,
    streamRun: (...args) => lazyBatches(async () => (await engine()).streamRun(...args)),
    open: async () => void (await engine()),
    drain: async () => (await opener.end())?.drain(),
    close: async () => (await opener.end())?.close(),
  };
}
