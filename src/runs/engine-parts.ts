import type { Caller } from "../core/caller.ts";
import { LinkedSignal, untilAborted } from "../generation/linked-signal.ts";
import type { ModelClient } from "../generation/model-calls.ts";
import { abortErrorOf } from "../kit/http/abort.ts";
import type { Gate } from "./gate.ts";
import type { HistoryMemory } from "./history-memory.ts";
import type { RunLimits } from "./limits.ts";
import type { LiveRun } from "./live-run.ts";
import type { RunObserver } from "./observer.ts";
import { type ReaderOptions, RunReader } from "./run-reader.ts";
import type { ServerTools } from "./server-tools.ts";
import type { Lease, RunStore } from "./store.ts";

/** What all runs of an engine share. */
export interface EngineParts {
  readonly client: ModelClient;
  /** The caller with the name of an owner. */
  readonly callerNamed: (owner: string) => Caller;
  readonly store: RunStore;
  readonly limits: RunLimits;
  readonly serverTools: ServerTools;
  readonly observer: RunObserver;
  /** The right of this process to the runs that it executes. */
  readonly lease: Lease;
  /** One limit for each kind of work. */
  readonly gates: Readonly<Record<"foreground" | "background" | "tools" | "readers", Gate>>;
  readonly histories: HistoryMemory;
  /** The runs in progress in this process, by their ids. */
  readonly live: Map<string, LiveRun>;
}

/** Reads the events of a stored run, wherever it is executed. */
export function readRun(
  { store, live }: Pick<EngineParts, "store" | "live">,
  { owner, runId, after }: { readonly owner: string; readonly runId: string; readonly after: number },
  options: ReaderOptions = {},
): RunReader {
  return new RunReader({ store, owner, runId, findHub: () => live.get(runId)?.hub }, after, options);
}

/**
 * Waits until a run has ended or requires action, in whatever process, or the time limit is reached.
 * @throws SDKError of the signal's reason where it is aborted first.
 */
export async function waitForRun(
  parts: Pick<EngineParts, "store" | "live">,
  { owner, runId }: { readonly owner: string; readonly runId: string },
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  const limit = new LinkedSignal(signal, { ms, what: "the wait for a run" });
  try {
    const live = parts.live.get(runId);
    if (live !== undefined) await untilAborted(live.ended, limit.signal);
    else await drain(await readerFromEnd(parts, owner, runId, limit.signal));
  } catch (thrown) {
    if (!limit.signal.aborted) throw thrown;
  } finally {
    limit.release();
  }
  if (signal?.aborted) throw abortErrorOf(signal);
}

async function readerFromEnd(
  parts: Pick<EngineParts, "store" | "live">,
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
