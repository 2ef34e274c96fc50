import { timestampNow } from "@bufbuild/protobuf/wkt";
import { ServerError } from "../core/errors.ts";
import { addUsage } from "../core/usage.ts";
import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import { type Run, RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import type { Usage } from "../gen/outrigger/v1/usage_pb.ts";
import { BoundedMap } from "../middleware/bounded-map.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { HistoryShare } from "./history-memory.ts";
import { outputsOfStep } from "./outputs.ts";
import { createStatusEvent } from "./run-event.ts";
import { withStatus } from "./status.ts";
import type { StoredRun } from "./store.ts";

/** How often runs that are too old are removed, in milliseconds. */
const REMOVAL_INTERVAL_MS = 600_000;

/** Queued runs whose owners are remembered. */
const MAX_POSTPONED = 10_000;

/** Runs that are removed, or marked as failed, in one transaction: few, to keep locks short. */
const BATCH = 100;

/**
 * Starts a queued run that this process has taken. Resolves when this process is done with it. Never rejects.
 * @param share Memory for its conversation.
 */
export type RunTaken = (stored: StoredRun, share: HistoryShare) => Promise<void>;

/**
 * Takes queued runs, renews the leases of this process, marks runs of crashed processes as failed, and removes old
 * runs.
 */
export class BackgroundRuns {
  readonly #parts: EngineParts;
  readonly #runTaken: RunTaken;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #stopped = new AbortController();
  /** Owners of queued runs that wait until fewer runs of the same owner are under way. */
  readonly #postponed = new BoundedMap<string>(MAX_POSTPONED);
  readonly #delivery: Promise<(() => Promise<void>) | undefined>;
  #stopping: Promise<void> | undefined;

  /** Begins at once. */
  constructor(parts: EngineParts, runTaken: RunTaken) {
    this.#parts = parts;
    this.#runTaken = runTaken;
    const { store, limits } = parts;
    this.#delivery = store
      .deliverQueued((runId) => this.#handle(runId), limits.maxBackgroundRuns)
      .catch((thrown: unknown) => {
        parts.observer.failed?.("take queued runs", thrown);
        return undefined;
      });
    // The first time at once: runs of an earlier process of this store are over.
    void this.#repeat(limits.leaseMs / 3, "renew the leases of runs", () => this.#keepLeases())();
    if (limits.retentionMs > 0) this.#repeat(REMOVAL_INTERVAL_MS, "remove old runs", () => this.#removeOld());
  }

  /** Stops taking runs. Resolves when the runs already taken have ended. */
  stopTaking(): Promise<void> {
    this.#stopped.abort();
    this.#stopping ??= this.#delivery.then((stop) => stop?.());
    return this.#stopping;
  }

  /** Ends the timers. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  /** Repeats work, and reports its failures. Returns what does it once more, now. */
  #repeat(ms: number, what: string, work: () => Promise<void>): () => Promise<void> {
    let isAtWork = false;
    const run = async () => {
      if (isAtWork) return;
      isAtWork = true;
      try {
        await work();
      } catch (thrown) {
        this.#parts.observer.failed?.(what, thrown);
      } finally {
        isAtWork = false;
      }
    };
    this.#timers.push(setInterval(run, ms).unref());
    return run;
  }

  async #handle(runId: string): Promise<void> {
    const { gates, histories, store, lease, observer } = this.#parts;
    // The store is not asked about a run whose owner still has its share.
    if (gates.background.isFull(this.#postponed.get(runId) ?? "")) return;
    let share: HistoryShare | undefined;
    let claimedBy = "";
    try {
      await gates.background.wait(this.#stopped.signal);
    } catch {
      // It stays queued, for another process or the next start.
      return;
    }
    try {
      share = await histories.wait(this.#stopped.signal);
      const stored = this.#stopped.signal.aborted ? undefined : await store.take(runId, lease);
      if (stored === undefined) return;
      const { run, owner } = stored;
      // An owner with its share of the places under way: the store delivers the run again a while later.
      if (!gates.background.claim(owner)) {
        this.#postponed.getOrCreate(runId, () => owner);
        await store.write({ runId, lease, run });
        return;
      }
      claimedBy = owner;
      await this.#runTaken(stored, share);
    } catch (thrown) {
      if (!this.#stopped.signal.aborted) observer.failed?.("start a queued run", thrown);
    } finally {
      share?.release();
      gates.background.leave(claimedBy);
    }
  }

  async #keepLeases(): Promise<void> {
    const { store, lease, live, observer } = this.#parts;
    for (const runId of await store.renewLeases(lease)) live.get(runId)?.cancel();
    for (const stored of await store.takeAbandoned(lease, BATCH)) await this.#failAbandoned(stored);
    if (observer.queueMeasured !== undefined) observer.queueMeasured(await store.countQueued());
  }

  /** Marks a run of a crashed process as failed. Its model calls have been paid for, so it is not executed again. */
  async #failAbandoned({ run, owner }: StoredRun): Promise<void> {
    const { store, lease, observer } = this.#parts;
    const steps = await store.readSteps(run.id);
    const failed = abandonedRun(run, steps);
    const messages = [];
    for (const [index, step] of steps.entries()) {
      const outputs = outputsOfStep(run.id, index + 1, step);
      const [answer] = outputs;
      // Steps before an earlier REQUIRES_ACTION are in the thread already.
      const isWritten = answer === undefined || (await store.getMessage(owner, answer.id)) !== undefined;
      if (!isWritten) messages.push(...outputs);
    }
    const events = [createStatusEvent(failed.lastSequence, failed)];
    const isHeld = await store.write({ runId: run.id, lease, run: failed, events, messages });
    if (isHeld) observer.runEnded?.(failed);
  }

  async #removeOld(): Promise<void> {
    const { store, limits } = this.#parts;
    const before = new Date(Date.now() - limits.retentionMs);
    while (!this.#stopped.signal.aborted && (await store.removeOld(before, BATCH)) === BATCH);
  }
}

function abandonedRun(run: Run, steps: readonly StepResult[]): Run {
  const error = new ServerError("the sidecar that executed the run stopped before the run was over", {
    usage: usageOf(steps),
    outputStarted: steps.length > 0,
    retryable: true,
  });
  const { usage } = error;
  return withStatus(run, RunStatus.FAILED, {
    error: error.toProto(),
    endedAt: timestampNow(),
    lastSequence: run.lastSequence + 1,
    ...(usage === undefined ? {} : { usage }),
  });
}

function usageOf(steps: readonly StepResult[]): Usage | undefined {
  let sum: Usage | undefined;
  for (const { response } of steps)
    if (response?.usage !== undefined)
      sum = sum === undefined ? response.usage : addUsage(sum, response.usage);
  return sum;
}
