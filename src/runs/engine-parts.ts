import { setTimeout as delay } from "node:timers/promises";
import type { Caller } from "../core/caller.ts";
import type { MemoryAccount } from "../core/memory-account.ts";
import { LinkedSignal, untilAborted } from "../generation/loop/linked-signal.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";
import { toAbortError } from "../kit/http/abort.ts";
import type { RunObserver } from "./engine.ts";
import { ThreadBusyError } from "./errors.ts";
import type { RunFeeds } from "./event-hub.ts";
import type { Gate, HistoryMemory, RunLimits } from "./limits.ts";
import type { LiveRun } from "./live-run.ts";
import { type ReaderOptions, RunReader } from "./run-reader.ts";
import type { ServerTools } from "./server-tools.ts";
import type { Holder, RunStore } from "./store.ts";

/** Pauses between looks at a run that is in the way although it has ended, in milliseconds. */
const POLL_MS = { first: 10, last: 500 };

const NEVER = new AbortController().signal;

/** What all runs of an engine share. */
export interface EngineParts {
  readonly client: ModelClient;
  readonly callerNamed: (owner: string) => Caller;
  readonly store: RunStore;
  readonly limits: RunLimits;
  readonly serverTools: ServerTools;
  readonly observer: RunObserver;
  readonly holder: Holder;
  readonly known: KnownRuns;
  /** The memory of the process, and how much of each limit one owner may take. */
  readonly account: MemoryAccount;
  /** One limit for each kind of work. */
  readonly gates: Readonly<Record<"foreground" | "background" | "tools" | "readers", Gate>>;
  readonly histories: HistoryMemory;
  /** The runs in progress in this process, by their ids. */
  readonly live: Map<string, LiveRun>;
  readonly feeds: RunFeeds;
}

/** What readers of runs need. */
export type ReadParts = Pick<EngineParts, "store" | "live" | "feeds">;

/** A stored run, and where its reading begins: after an event. */
export interface ReadPlace {
  readonly owner: string;
  readonly runId: string;
  readonly after: number;
}

/** Reads the events of a stored run, wherever it is executed. */
export function readRun(
  { store, live, feeds }: ReadParts,
  { owner, runId, after }: ReadPlace,
  options: ReaderOptions = {},
): RunReader {
  const findHub = () => {
    const run = live.get(runId);
    return run?.owner === owner ? run.hub : undefined;
  };
  return new RunReader({ store, feeds, owner, runId, findHub }, after, options);
}

/**
 * Returns a function that waits for a run that is in the way of something, and a little longer each time, since the store
 * may name it again at once. It throws a ThreadBusyError when the time is over, or an SDKError of the signal's reason.
 * @param end In milliseconds of `performance.now()`.
 */
export function createThreadWait(parts: ReadParts, owner: string, end: number) {
  let waits = 0;
  return async (runId: string, signal: AbortSignal = NEVER): Promise<void> => {
    const ms = end - performance.now();
    if (ms <= 0) throw new ThreadBusyError(runId);
    await waitForRun(parts, { owner, runId }, ms, signal);
    const pause = Math.min(POLL_MS.first * 2 ** waits, POLL_MS.last, ms);
    if (waits > 0) await untilAborted(delay(pause), signal);
    waits += 1;
  };
}

/**
 * Waits until a run has ended or requires action, in whatever process, or the time limit is reached.
 * @throws SDKError of the signal's reason if it is aborted first.
 */
export async function waitForRun(
  parts: ReadParts,
  { owner, runId }: Omit<ReadPlace, "after">,
  ms: number,
  caller?: AbortSignal,
): Promise<void> {
  const limit = new LinkedSignal(caller, { ms, what: "the wait for a run" });
  const { signal } = limit;
  try {
    const live = parts.live.get(runId);
    if (live !== undefined) await untilAborted(live.ended, signal);
    const after = (await parts.store.getRun(owner, runId))?.run.lastSequence ?? -1;
    await untilAborted(drain(readRun(parts, { owner, runId, after }, { signal })), signal);
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  } finally {
    limit.release();
  }
  if (caller?.aborted) throw toAbortError(caller);
}

/** Reads to the end. */
export async function drain(reader: RunReader): Promise<void> {
  let result = await reader.next();
  while (result.done !== true) result = await reader.next();
}

/**
 * Ids of the runs that this process creates, takes, executes or recovers. What the store says that it holds besides was
 * given up, or an answer of the store was lost.
 */
export class KnownRuns {
  /** How many parts of the program know each run: one may begin with it while another one still ends. */
  readonly #counts = new Map<string, number>();
  #search: Promise<unknown> | undefined;

  /** Registers a run before the store may give it to this process. Waits for a search that does not know it. */
  async add(runId: string): Promise<void> {
    while (this.#search !== undefined) await this.#search;
    this.addTaken(runId);
  }

  /** Registers a run that the store gave to the part of the program that searches as well. */
  addTaken(runId: string): void {
    this.#counts.set(runId, (this.#counts.get(runId) ?? 0) + 1);
  }

  delete(runId: string): void {
    const count = (this.#counts.get(runId) ?? 0) - 1;
    if (count > 0) this.#counts.set(runId, count);
    else this.#counts.delete(runId);
  }

  /**
   * Does something that may give a run to this process, before the store does so.
   * @param keeps Whether the run is known further. Not after a failure: if only the answer was lost, it is recovered.
   */
  async during<Result>(
    runId: string,
    work: () => Promise<Result>,
    keeps: (result: Result) => boolean,
  ): Promise<Result> {
    await this.add(runId);
    let isKept = false;
    try {
      const result = await work();
      isKept = keeps(result);
      return result;
    } finally {
      if (!isKept) this.delete(runId);
    }
  }

  /** Searches for runs that are not known. Meanwhile no run is added. Never called twice at a time. */
  async search<Result>(find: (known: readonly string[]) => Promise<Result>): Promise<Result> {
    const search = find([...this.#counts.keys()]);
    this.#search = search.catch(() => undefined);
    try {
      return await search;
    } finally {
      this.#search = undefined;
    }
  }
}
