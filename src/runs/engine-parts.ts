import { setTimeout as delay } from "node:timers/promises";
import type { Caller } from "../core/caller.ts";
import type { MemoryAccount } from "../core/memory-account.ts";
import { LinkedSignal, untilAborted } from "../generation/loop/linked-signal.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";
import { toAbortError } from "../kit/http/abort.ts";
import type { RunObserver } from "./engine.ts";
import { ThreadBusyError } from "./errors.ts";
import type { Gate } from "./gate.ts";
import type { HistoryMemory } from "./history-memory.ts";
import type { KnownRuns } from "./known-runs.ts";
import type { RunLimits } from "./limits.ts";
import type { LiveRun } from "./live-run.ts";
import type { RunFeeds } from "./run-feeds.ts";
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

/** Reads the events of a stored run, wherever it is executed. */
export function readRun(
  { store, live, feeds }: ReadParts,
  { owner, runId, after }: { readonly owner: string; readonly runId: string; readonly after: number },
  options: ReaderOptions = {},
): RunReader {
  return new RunReader({ store, feeds, owner, runId, findHub: () => live.get(runId)?.hub }, after, options);
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
  { owner, runId }: { readonly owner: string; readonly runId: string },
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  const limit = new LinkedSignal(signal, { ms, what: "the wait for a run" });
  try {
    const live = parts.live.get(runId);
    if (live !== undefined) await untilAborted(live.ended, limit.signal);
    await untilAborted(drain(await readerFromEnd(parts, owner, runId, limit.signal)), limit.signal);
  } catch (thrown) {
    if (!limit.signal.aborted) throw thrown;
  } finally {
    limit.release();
  }
  if (signal?.aborted) throw toAbortError(signal);
}

async function readerFromEnd(
  parts: ReadParts,
  owner: string,
  runId: string,
  signal: AbortSignal,
): Promise<RunReader> {
  const after = (await parts.store.getRun(owner, runId))?.run.lastSequence ?? -1;
  return readRun(parts, { owner, runId, after }, { signal });
}

/** Reads to the end. */
export async function drain(reader: RunReader): Promise<void> {
  let result = await reader.next();
  while (result.done !== true) result = await reader.next();
}
