import { withoutContent } from "../client/final-response.ts";
import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import type { Run, RunEvent } from "../gen/outrigger/v1/run_pb.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import type { ThreadMessage } from "../gen/outrigger/v1/thread_pb.ts";
import type { EventHub } from "./event-hub.ts";
import { createRunEvent, type RunEventValue } from "./run-event.ts";
import type { Lease, RunStore } from "./store.ts";

/** Maximum number of events waiting for a write before the run has to wait. */
const MAX_PENDING = 256;

/** Another process holds the run, so this process cannot write to it any more. */
export class LeaseLostError extends Error {
  constructor(runId: string) {
    super(`this process does not hold the run ${runId} any more`);
  }
}

/** What a journal writes to. */
export interface JournalTarget {
  readonly store: RunStore;
  readonly runId: string;
  readonly lease: Lease;
  readonly hub: EventHub;
  /** Whether events are written as they come. Otherwise nothing is written before the end: nobody could read it. */
  readonly isStored: boolean;
  /** The store failed, or the lease is lost. Called once. */
  readonly onFailure: (error: Error) => void;
}

/** A change of the run that is written with the events before it. */
export interface JournalChange {
  readonly run?: Run | undefined;
  readonly messages?: readonly ThreadMessage[] | undefined;
}

/**
 * Numbers the events of a run, writes them to the store, and publishes them when they are written. One write at a time:
 * what comes meanwhile goes with the next one.
 */
export class Journal {
  readonly #target: JournalTarget;
  #next: number;
  #pending: RunEvent[] = [];
  #steps: StepResult[] = [];
  /** Replaces the latest step that has been written. */
  #latestStep: StepResult | undefined;
  #writing: Promise<void> | undefined;
  #failure: Error | undefined;
  #isStopped = false;

  /** @param next Sequence number of the next event. */
  constructor(target: JournalTarget, next: number) {
    this.#target = target;
    this.#next = next;
  }

  /** Sequence number of the latest event. */
  get lastSequence(): number {
    return this.#next - 1;
  }

  /** Resolves when there is room for more events. Undefined where there is. */
  get pace(): Promise<void> | undefined {
    return this.#pending.length < MAX_PENDING ? undefined : this.#writing;
  }

  /** Adds events of the model, without the content that their deltas already contain. */
  addModelEvents(step: number, events: readonly StreamEvent[]): void {
    for (const event of events) this.add(step, { case: "modelEvent", value: withoutContent(event) });
  }

  add(step: number, event: RunEventValue): void {
    this.#pending.push(createRunEvent(this.#next, step, event));
    this.#next += 1;
  }

  /** Adds a step that is complete; its event is added by itself. */
  addStep(step: StepResult): void {
    this.#steps.push(step);
  }

  /** Replaces the latest step of earlier writes. */
  replaceLatestStep(step: StepResult): void {
    this.#latestStep = step;
  }

  /** Writes the pending changes, now or after the current write. Failures are reported to the target. */
  flush(): void {
    const isIdle = this.#writing === undefined && this.#failure === undefined && !this.#isStopped;
    if (!isIdle || this.#pending.length === 0) return;
    if (!this.#target.isStored) return this.#publishPending();
    this.#writing = this.#writePending();
  }

  /** After this, only `write` writes. Resolves when the current write has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#writing;
  }

  /**
   * Writes the pending changes together with another one. Only after `stop`.
   * @throws LeaseLostError; SDKError of the store, after which it can be called again.
   */
  async write(change: JournalChange): Promise<void> {
    if (this.#failure instanceof LeaseLostError) throw this.#failure;
    await this.#write(change);
  }

  #publishPending(): void {
    const events = this.#pending;
    this.#pending = [];
    this.#target.hub.publish(events);
  }

  async #writePending(): Promise<void> {
    try {
      while (this.#pending.length > 0 && !this.#isStopped) await this.#write({});
    } catch (thrown) {
      this.#failure = thrown instanceof Error ? thrown : new Error(String(thrown));
      this.#target.onFailure(this.#failure);
    } finally {
      this.#writing = undefined;
    }
  }

  async #write(change: JournalChange): Promise<void> {
    const { store, runId, lease, hub } = this.#target;
    const [events, steps, latestStep] = [this.#pending, this.#steps, this.#latestStep];
    this.#pending = [];
    this.#steps = [];
    this.#latestStep = undefined;
    try {
      const isHeld = await store.write({ runId, lease, events, steps, latestStep, ...change });
      if (!isHeld) throw new LeaseLostError(runId);
    } catch (thrown) {
      this.#pending = [...events, ...this.#pending];
      this.#steps = [...steps, ...this.#steps];
      this.#latestStep ??= latestStep;
      throw thrown;
    }
    if (events.length > 0) hub.publish(events);
  }
}
