import type { Caller } from "../core/caller.ts";
import { AbortError, invalidField, ServerError } from "../core/errors.ts";
import type { MemoryAccount } from "../core/memory-account.ts";
import { type McpServer, type Run, RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";
import { BoundedMap } from "../middleware/bounded-map.ts";
import type { RunObserver, RunOptions, RunWithOrigin, StartedRun } from "./engine.ts";
import { found } from "./errors.ts";
import type { RunFeeds } from "./event-hub.ts";
import type { ConcurrencyLimiter, HistoryMemory, RunLimits } from "./limits.ts";
import { LiveRun, type LiveRunOptions, type RunPlan } from "./live-run.ts";
import { hasSecrets } from "./read-request.ts";
import { drain, type ReadPosition, RunReader } from "./run-reader.ts";
import type { ServerTools } from "./server-tools.ts";
import { isQueuedOrRunning } from "./status.ts";
import type { Holder, RunStore } from "./store.ts";

/** State that all runs of an engine share. */
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
  readonly limiters: Readonly<Record<"foreground" | "background" | "tools" | "readers", ConcurrencyLimiter>>;
  readonly histories: HistoryMemory;
  /** The runs in progress in this process, by their ids. */
  readonly live: Map<string, LiveRun>;
  readonly feeds: RunFeeds;
}

/**
 * Ids of the runs that this process creates, claims, executes or recovers. Other runs that it has claimed according to
 * the store were abandoned, or an answer of the store was lost.
 */
export class KnownRuns {
  /** How many parts of the program use each run: one may begin while another one is still ending. */
  readonly #counts = new Map<string, number>();
  #search: Promise<unknown> | undefined;

  /** Registers a run before the store may give it to this process. Waits for a search that does not know it. */
  async add(runId: string): Promise<void> {
    while (this.#search !== undefined) await this.#search;
    this.addClaimed(runId);
  }

  /** Registers a run that the store returned to a search. */
  addClaimed(runId: string): void {
    this.#counts.set(runId, (this.#counts.get(runId) ?? 0) + 1);
  }

  delete(runId: string): void {
    const count = (this.#counts.get(runId) ?? 0) - 1;
    if (count > 0) this.#counts.set(runId, count);
    else this.#counts.delete(runId);
  }

  /**
   * Executes work that may give a run to this process. Registers the run before the store can do so.
   * @param keeps Whether the run stays registered. Not after a failure: if only the answer was lost, it is recovered.
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

  /** Searches for unknown runs. `add` waits until it has ended. Not reentrant. */
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

/** Maximum number of runs that require action whose servers are kept in memory with their credentials. */
const MAX_KEPT_SERVERS = 1000;

/** Number of checks for stalled callers per stall timeout. */
const CHECKS_PER_TIMEOUT = 4;

/** The runs that this process executes, and the readers of runs. */
export class Executions {
  readonly #parts: EngineParts;
  readonly #stallTimer: NodeJS.Timeout;
  /** Servers of runs that require action, with the credentials that are not stored. */
  readonly #servers = new BoundedMap<readonly McpServer[]>(MAX_KEPT_SERVERS);
  #isClosing = false;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { stallTimeoutMs } = parts.limits;
    this.#stallTimer = setInterval(() => {
      for (const run of parts.live.values()) run.detachStalledCaller(stallTimeoutMs);
    }, stallTimeoutMs / CHECKS_PER_TIMEOUT).unref();
  }

  /**
   * Hands over the runs that can continue in other processes, and ends the streams of those that are executed there.
   * Resolves when all runs have ended here.
   */
  async drain(): Promise<void> {
    const { live, feeds } = this.#parts;
    feeds.close(new ServerError("the sidecar is shutting down; resume the stream on another sidecar"));
    for (const run of live.values()) run.handOver();
    while (live.size > 0) await Promise.all([...live.values()].map(({ ended }) => ended));
  }

  /** Ends all runs that are not handed over. */
  close(): void {
    this.#isClosing = true;
    clearInterval(this.#stallTimer);
    for (const live of this.#parts.live.values()) {
      live.handOver();
      live.abort(closingError());
    }
  }

  /** Returns the servers of a run with their credentials, if this process has them. */
  serversWithSecrets(runId: string): readonly McpServer[] | undefined {
    return this.#servers.get(runId);
  }

  /** Starts a run. */
  start(plan: RunPlan, options: LiveRunOptions): LiveRun {
    const { live, known, observer } = this.#parts;
    const { stored, onEnd } = options;
    const { id } = plan.run;
    const run = new LiveRun(this.#parts, plan, {
      ...options,
      onEnd: (ended) => {
        if (live.get(id) === run) live.delete(id);
        known.delete(id);
        onEnd(ended);
        // A submission continues the run in this process.
        if (ended.status === RunStatus.REQUIRES_ACTION && plan.servers.some(hasSecrets))
          this.#servers.getOrCreate(id, () => plan.servers);
        if (!isQueuedOrRunning(ended.status)) observer.runEnded?.(ended);
      },
    });
    live.set(id, run);
    if (this.#isClosing) run.abort(closingError());
    // Callers already knew the id, so a request to cancel may have arrived while the run was being claimed, before the
    // subscription.
    const wasStored = plan.run.background || plan.earlier !== undefined;
    if (stored !== undefined && wasStored) void this.#applyEarlierCancel(stored.owner, run);
    return run;
  }

  /** Starts a run that a caller asked for: one in the background does not depend on that caller. */
  startForCaller(
    plan: RunPlan,
    stored: LiveRunOptions["stored"],
    onEnd: () => void,
    options: RunOptions,
  ): StartedRun {
    const { run } = plan;
    const { owner, signal, onMessages } = options;
    if (run.background) {
      this.start(plan, { stored, onEnd });
      return this.readInBackground(run, options);
    }
    const live = this.start(plan, { stored, onEnd, signal, onMessages });
    const onLeave = () => {
      live.abort(new AbortError("the caller disconnected"));
      return live.ended;
    };
    const open = () => {
      const position = { owner, runId: run.id, after: run.lastSequence - 1 };
      const opened = new RunReader(this.#parts, position, { run: live, onLeave });
      live.hub.setCaller(opened);
      return opened;
    };
    // The events of runs with whole answers are seldom read.
    let reader = plan.isStreamed ? open() : undefined;
    const result = async () => {
      if (reader?.hasBegun === false) live.hub.setCaller(undefined);
      await live.ended;
      const { end } = live.hub;
      if (end?.case === "failed") throw end.error;
      return end?.case === "elsewhere" ? this.getRun(owner, run.id) : { ...live.run, steps: [...live.steps] };
    };
    return {
      run,
      result,
      get events() {
        reader ??= open();
        return reader;
      },
    };
  }

  /** Returns a run that continues without its caller, with a reader of its events. */
  readInBackground(run: Run, { owner, signal }: RunOptions, after = run.lastSequence - 1): StartedRun {
    const events = this.read({ owner, runId: run.id, after }, signal);
    return {
      run,
      events,
      result: async () => {
        await drain(events);
        return this.getRun(owner, run.id);
      },
    };
  }

  /** Reads the events of a run, as one of a limited number of readers. */
  read({ owner, runId, after }: ReadPosition, signal: AbortSignal, mustExist = false): RunReader {
    const { readers } = this.#parts.limiters;
    const onBegin = () => {
      if (after < -1) throw invalidField("after_sequence", `expected a number from -1, found ${after}`);
      readers.acquire(owner);
    };
    const onEnd = () => readers.release(owner);
    return new RunReader(this.#parts, { owner, runId, after }, { signal, mustExist, onBegin, onEnd });
  }

  async getRun(owner: string, runId: string, withSteps = true): Promise<RunWithOrigin> {
    const { store } = this.#parts;
    const stored = found(await store.getRun(owner, runId), "run", runId);
    const steps = withSteps ? await store.readSteps(runId) : [];
    return { ...stored.run, steps: [...steps], origin: stored.origin };
  }

  /** Cancels a run if that was requested before this process subscribed. */
  async #applyEarlierCancel(owner: string, live: LiveRun): Promise<void> {
    const { store, observer } = this.#parts;
    try {
      const stored = await store.getRun(owner, live.run.id);
      if (stored?.run.cancelRequested === true) live.cancel();
    } catch (thrown) {
      // The next heartbeat of this process returns the runs to be cancelled as well.
      observer.failed?.("look for an earlier cancellation", thrown);
    }
  }
}

function closingError(): ServerError {
  return new ServerError("the sidecar stopped before the run ended");
}
