import { AbortError, invalidField, ServerError } from "../core/errors.ts";
import { type McpServer, type Run, RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import { BoundedMap } from "../middleware/bounded-map.ts";
import type { RunOptions, RunWithOrigin, StartedRun } from "./engine.ts";
import { drain, type EngineParts, type ReadPlace, readRun } from "./engine-parts.ts";
import { missing } from "./errors.ts";
import { LiveRun, type LiveRunOptions } from "./live-run.ts";
import { hasSecrets } from "./read-request.ts";
import type { RunPlan } from "./run-execution.ts";
import { createStatusEvent } from "./run-log.ts";
import { RunReader } from "./run-reader.ts";
import { isUnderWay } from "./status.ts";
import { UnstoredRun, type UnstoredRunOptions } from "./unstored-run.ts";

/** Maximum number of runs that require action whose servers are kept in memory with their credentials. */
const MAX_KEPT_SERVERS = 1000;

/** How often callers that do not read are looked for while they may be waited for. */
const LOOKS_PER_STALL = 4;

/** The runs that this process executes, and the readers of runs. */
export class Executions {
  readonly #parts: EngineParts;
  readonly #stallTimer: NodeJS.Timeout;
  /** Servers of runs that require action, with the credentials that are not stored. */
  readonly #servers = new BoundedMap<readonly McpServer[]>(MAX_KEPT_SERVERS);
  /** Runs that nobody but their callers can see. */
  readonly #unstored = new Set<UnstoredRun>();
  #isClosing = false;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { stallTimeoutMs } = parts.limits;
    this.#stallTimer = setInterval(() => {
      for (const run of [...parts.live.values(), ...this.#unstored]) run.giveUpStalledCaller(stallTimeoutMs);
    }, stallTimeoutMs / LOOKS_PER_STALL).unref();
  }

  /**
   * Hands over the runs that can go on in other processes, and ends the streams of those that are executed there.
   * Resolves when all runs have ended here.
   */
  async drain(): Promise<void> {
    const { live, feeds } = this.#parts;
    feeds.close(new ServerError("the sidecar is shutting down; resume the stream at another one"));
    for (const run of live.values()) run.handOver();
    for (let ends = this.#ends; ends.length > 0; ends = this.#ends) await Promise.all(ends);
  }

  /** Ends all runs, those that can go on elsewhere included only if they are not handed over. */
  close(): void {
    this.#isClosing = true;
    clearInterval(this.#stallTimer);
    for (const live of this.#parts.live.values()) {
      live.handOver();
      live.abort(closingError());
    }
    for (const run of this.#unstored) run.abort(closingError());
  }

  get #ends(): Promise<void>[] {
    return [...this.#parts.live.values(), ...this.#unstored].map(({ ended }) => ended);
  }

  /** Starts a run that only its caller can see. @param onEnd Called once when it has ended. */
  startUnstored(options: Omit<UnstoredRunOptions, "onEnd">, onEnd: () => void): StartedRun {
    const run = new UnstoredRun({
      ...options,
      onEnd: (ended) => {
        this.#unstored.delete(run);
        onEnd();
        this.#parts.observer.runEnded?.(ended);
      },
    });
    this.#unstored.add(run);
    if (this.#isClosing) run.abort(closingError());
    return { run: options.run, events: run, result: run.result };
  }

  /** The servers of a run with their credentials, if this process has them. */
  serversWithSecrets(runId: string): readonly McpServer[] | undefined {
    return this.#servers.get(runId);
  }

  /** Starts a run. @param onEnd Called once when this process is done with it. */
  start(
    plan: RunPlan,
    stored: LiveRunOptions["stored"],
    onEnd: () => void,
    { signal, onMessages }: Pick<LiveRunOptions, "signal" | "onMessages"> = {},
  ): LiveRun {
    const { live, known, observer } = this.#parts;
    const { id } = plan.run;
    const run = new LiveRun({
      parts: this.#parts,
      plan,
      stored,
      signal,
      onMessages,
      events: [createStatusEvent(plan.run.lastSequence, plan.run)],
      onEnd: (ended) => {
        if (live.get(id) === run) live.delete(id);
        known.delete(id);
        onEnd();
        // A submission to the run continues it in this process.
        if (ended.status === RunStatus.REQUIRES_ACTION && plan.servers.some(hasSecrets))
          this.#servers.getOrCreate(id, () => plan.servers);
        if (!isUnderWay(ended.status)) observer.runEnded?.(ended);
      },
    });
    live.set(id, run);
    if (this.#isClosing) run.abort(closingError());
    // Its id was known before: a request to cancel may have come while it was taken, and nobody listened.
    const wasStored = plan.run.background || plan.earlier !== undefined;
    if (stored !== undefined && wasStored) void this.#heedEarlierCancel(stored.owner, run);
    return run;
  }

  /** Starts a run that a caller asked for: one in the background does not depend on that caller. */
  startForCaller(
    plan: RunPlan,
    stored: LiveRunOptions["stored"],
    onEnd: () => void,
    options: RunOptions,
  ): StartedRun {
    const { store, feeds } = this.#parts;
    const { run } = plan;
    const { owner, signal, onMessages } = options;
    if (run.background) {
      this.start(plan, stored, onEnd);
      return this.readInBackground(run, options);
    }
    const live = this.start(plan, stored, onEnd, { signal, onMessages });
    const source = { store, feeds, owner, runId: run.id, findHub: () => live.hub };
    const reader = new RunReader(source, run.lastSequence - 1, {
      onLeave: () => {
        live.abort(new AbortError("the caller disconnected"));
        return live.ended;
      },
    });
    live.hub.setCaller(reader);
    const result = async () => {
      if (!reader.hasBegun) live.hub.setCaller(undefined);
      await live.ended;
      const { end } = live.hub;
      if (end?.case === "failed") throw end.error;
      return end?.case === "elsewhere" ? this.getRun(owner, run.id) : { ...live.run, steps: [...live.steps] };
    };
    return { run, events: reader, result };
  }

  /** A run that does not depend on its caller, who may read it. */
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
  read({ owner, runId, after }: ReadPlace, signal: AbortSignal, mustExist = false): RunReader {
    const { readers } = this.#parts.gates;
    const onBegin = () => {
      if (after < -1) throw invalidField("after_sequence", `expected a number from -1, found ${after}`);
      readers.enter(owner);
    };
    const onEnd = () => readers.leave(owner);
    return readRun(this.#parts, { owner, runId, after }, { signal, mustExist, onBegin, onEnd });
  }

  async getRun(owner: string, runId: string, withSteps = true): Promise<RunWithOrigin> {
    const { store } = this.#parts;
    const stored = await store.getRun(owner, runId);
    if (stored === undefined) throw missing("run", runId);
    const steps = withSteps ? await store.readSteps(runId) : [];
    return { ...stored.run, steps: [...steps], origin: stored.origin };
  }

  /** Cancels a run that was to be cancelled before this process listened. */
  async #heedEarlierCancel(owner: string, live: LiveRun): Promise<void> {
    const { store, observer } = this.#parts;
    try {
      const stored = await store.getRun(owner, live.run.id);
      if (stored?.run.cancelRequested === true) live.cancel();
    } catch (thrown) {
      // The next sign of life of this process gets the runs to be cancelled as well.
      observer.failed?.("look for an earlier cancellation", thrown);
    }
  }
}

function closingError(): ServerError {
  return new ServerError("the sidecar stopped before the run was over");
}
