import { setTimeout as delay } from "node:timers/promises";
import { yieldTurn } from "../core/loop-turns.ts";
import { WakeUp } from "./event-hub.ts";
import type { EngineParts } from "./executions.ts";
import type { HistoryShare } from "./limits.ts";
import { recoverRun, releaseRun } from "./recovery.ts";
import type { ClaimedRun } from "./store.ts";

/** Interval at which old runs are removed, and delay of the first removal, in milliseconds. */
const REMOVAL_MS = { first: 1_000, interval: 600_000 };

/** Runs that are removed in one transaction: few, so that locks are held briefly. */
const REMOVAL_BATCH = 32;

/** Runs that are claimed in one transaction. */
const CLAIM_BATCH = 32;

/** How long queued runs wait if their notice was lost, in milliseconds. */
const QUEUE_POLL_MS = 2_000;

/** Heartbeats, and searches for processes without one, per timeout of a process. */
const HEARTBEATS_PER_TIMEOUT = 3;

/**
 * Delivers runs to this process: queued runs, and runs whose process has stopped, which return to the queue or end.
 * Also sends heartbeats and removes old runs.
 */
export class Delivery {
  readonly #parts: EngineParts;
  readonly #execute: (claimed: ClaimedRun, share: HistoryShare) => Promise<void>;
  /** Interval of this process's heartbeats, and of its searches for processes without one, in milliseconds. */
  readonly #heartbeatMs: number;
  readonly #heartbeatTimer: NodeJS.Timeout;
  #removalTimer: NodeJS.Timeout | undefined;
  readonly #stopped = new AbortController();
  readonly #executions = new Set<Promise<void>>();
  readonly #unsubscribe: () => void;
  readonly #loop: Promise<void>;
  #heartbeat: Promise<void> | undefined;
  /** When this process last sent a heartbeat and recovered runs, in milliseconds of `performance.now()`. */
  #heartbeatAt = -Infinity;
  #recoveredAt = -Infinity;
  readonly #queue = new WakeUp();

  /**
   * Starts immediately.
   * @param execute Executes a queued run that this process has claimed, with memory for its conversation. Resolves when
   *   this process is done with it.
   */
  constructor(parts: EngineParts, execute: (claimed: ClaimedRun, share: HistoryShare) => Promise<void>) {
    this.#parts = parts;
    this.#execute = execute;
    const { store, limits, holder } = parts;
    this.#heartbeatMs = holder.timeoutMs / HEARTBEATS_PER_TIMEOUT;
    this.#unsubscribe = store.subscribeToQueue(() => this.wake());
    const beat = () => this.#report("send a heartbeat to the store", () => this.#sendHeartbeat());
    this.#heartbeatTimer = setInterval(beat, this.#heartbeatMs).unref();
    if (limits.retentionMs > 0) this.#removeLater(REMOVAL_MS.first);
    this.#loop = this.#run();
  }

  /** Resolves when this process may claim and create runs. @throws SDKError if the store cannot be reached. */
  async ensureAlive(): Promise<void> {
    if (performance.now() - this.#heartbeatAt > this.#parts.holder.timeoutMs / 2) await this.#sendHeartbeat();
  }

  wake(): void {
    this.#queue.wake();
  }

  /** Stops claiming runs. Resolves when the claimed ones have ended here. */
  async stopClaiming(): Promise<void> {
    this.#stopped.abort();
    this.#unsubscribe();
    this.wake();
    await this.#loop;
    await Promise.all(this.#executions);
  }

  /** Stops the heartbeats. Other processes may then continue the runs that this one has claimed. */
  async close(): Promise<void> {
    const { store, holder, observer } = this.#parts;
    clearInterval(this.#heartbeatTimer);
    clearTimeout(this.#removalTimer);
    await this.#heartbeat?.catch(() => undefined);
    await store.releaseLease(holder).catch((thrown) => observer.failed?.("release the lease", thrown));
  }

  async #report(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      this.#parts.observer.failed?.(what, thrown);
    }
  }

  #sendHeartbeat(): Promise<void> {
    const { store, holder, live, observer } = this.#parts;
    const renew = async () => {
      const at = performance.now();
      for (const runId of await store.renewLease(holder)) live.get(runId)?.cancel();
      this.#heartbeatAt = at;
      if (observer.runsMeasured === undefined) return;
      const stored = [...live.values()].filter(({ owner }) => owner !== undefined);
      observer.runsMeasured((await store.countQueued("")).total, stored.length);
    };
    this.#heartbeat ??= renew().finally(() => {
      this.#heartbeat = undefined;
    });
    return this.#heartbeat;
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      this.#queue.reset();
      if (performance.now() - this.#recoveredAt >= this.#heartbeatMs) {
        await this.#report("recover runs whose process has stopped", () => this.#recoverAll());
        this.#recoveredAt = performance.now();
      }
      await this.#report("claim queued runs", () => this.#claimQueued());
      await this.#queue.wait(Math.min(QUEUE_POLL_MS, this.#heartbeatMs));
    }
  }

  /** Recovers all runs whose process has stopped, and those that this process no longer executes. */
  async #recoverAll(): Promise<void> {
    const { store, holder, known } = this.#parts;
    await this.ensureAlive();
    const tried = new Set<string>();
    while (!this.#stopped.signal.aborted) {
      const abandoned = await known.search((ids) =>
        store.claimAbandoned(holder, [...ids, ...tried], CLAIM_BATCH),
      );
      if (abandoned.length === 0) return;
      for (const { run } of abandoned) tried.add(run.id);
      await Promise.all(
        abandoned.map(async (claimed) => {
          const turn = yieldTurn();
          if (turn !== undefined) await turn;
          // If that fails, the run is recovered the next time.
          await this.#report(`recover the run ${claimed.run.id}`, () => recoverRun(this.#parts, claimed));
        }),
      );
    }
  }

  async #claimQueued(): Promise<void> {
    const { store, holder, limiters } = this.#parts;
    const { background } = limiters;
    await this.ensureAlive();
    while (!this.#stopped.signal.aborted && background.free > 0) {
      const slots = Math.min(background.free, CLAIM_BATCH);
      for (let slot = 0; slot < slots; slot += 1) background.acquire("");
      let claimedCount = 0;
      try {
        const runs = await store.claimQueued(holder, slots, background.fullOwners);
        claimedCount = runs.length;
        for (const claimed of runs) this.#begin(claimed);
      } finally {
        for (let slot = claimedCount; slot < slots; slot += 1) background.release("");
      }
      if (claimedCount < slots) return;
      await yieldTurn();
    }
  }

  #begin(claimed: ClaimedRun): void {
    const { known, limiters, histories } = this.#parts;
    const { owner, run } = claimed;
    known.addClaimed(run.id);
    // A batch may have more runs of an owner than the owner's share: the others return to the queue.
    const isAssigned = limiters.background.assign(owner);
    const work = async () => {
      const waiting = isAssigned ? histories.wait(this.#stopped.signal) : undefined;
      // Undefined when this process stops.
      const share = await waiting?.catch(() => undefined);
      if (share === undefined) return releaseRun(this.#parts, claimed);
      try {
        await this.#execute(claimed, share);
      } finally {
        share.release();
      }
    };
    const execution = this.#report("start a queued run", work).finally(() => {
      known.delete(run.id);
      limiters.background.release(isAssigned ? owner : "");
      this.#executions.delete(execution);
      this.wake();
    });
    this.#executions.add(execution);
  }

  /** Removes old runs after a delay in milliseconds, and repeatedly from then on. */
  #removeLater(ms: number): void {
    const remove = async () => {
      await this.#report("remove old runs", () => this.#removeOld());
      if (!this.#stopped.signal.aborted) this.#removeLater(REMOVAL_MS.interval);
    };
    this.#removalTimer = setTimeout(remove, ms).unref();
  }

  async #removeOld(): Promise<void> {
    const { store, limits } = this.#parts;
    const before = new Date(Date.now() - limits.retentionMs);
    while (!this.#stopped.signal.aborted) {
      const started = performance.now();
      if ((await store.removeOld(before, REMOVAL_BATCH)) < REMOVAL_BATCH) return;
      // Calls get half of the time, however many runs are to be removed.
      await delay(performance.now() - started, undefined, { ref: false });
    }
  }
}
