import { setTimeout as delay } from "node:timers/promises";
import { AbortError, toSdkError } from "../core/errors.ts";
import type { GenerateResult, StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import type { Run, RunEvent } from "../gen/outrigger/v1/run_pb.ts";
import { LinkedSignal } from "../generation/linked-signal.ts";
import { EventHub } from "./event-hub.ts";
import { Journal, LeaseLostError } from "./journal.ts";
import { runAfter, runAfterFailure } from "./outcome.ts";
import { RunExecution, type RunPlan } from "./run-execution.ts";
import type { Lease, RunStore } from "./store.ts";

/** How often the end of a run is written again where the store fails, and after how long, in milliseconds. */
const END_RETRIES_MS: readonly number[] = [50, 250, 1_000];

/** Options of a run in progress. */
export interface LiveRunOptions {
  readonly store: RunStore;
  readonly lease: Lease;
  /** What the run executes. */
  readonly plan: RunPlan;
  /** Events so far: already written, not yet published. */
  readonly events: readonly RunEvent[];
  /** Aborts the run: the signal of the caller of a foreground run. */
  readonly signal?: AbortSignal | undefined;
  /** Called once when the run is over, requires action, or is lost to another process. */
  readonly onEnd: (run: Run) => void;
}

/** A run that this process executes, from the moment it is IN_PROGRESS in the store. */
export class LiveRun {
  readonly hub: EventHub;
  /** Resolves when this process is done with the run. Never rejects. */
  readonly ended: Promise<void>;
  readonly #options: LiveRunOptions;
  readonly #journal: Journal;
  readonly #scope: LinkedSignal;
  readonly #execution: RunExecution;
  #run: Run;
  #isCancelRequested = false;
  #isEnding = false;

  /** Begins at once. */
  constructor(options: LiveRunOptions) {
    const { store, lease, plan, signal, events } = options;
    this.#options = options;
    this.#run = plan.run;
    const next = plan.run.lastSequence + 1;
    this.hub = new EventHub(next - events.length);
    this.hub.publish(events);
    this.#scope = new LinkedSignal(signal);
    const onFailure = (error: Error) => this.#scope.abort(toSdkError(error));
    const { id: runId, stored: isStored } = plan.run;
    this.#journal = new Journal({ store, runId, lease, hub: this.hub, isStored, onFailure }, next);
    this.#execution = new RunExecution(plan, this.#journal, this.hub);
    // A run that waits for its reader must continue to notice that it was aborted.
    this.#scope.signal.addEventListener("abort", () => this.hub.setCaller(undefined), { once: true });
    this.ended = this.#drive();
  }

  /** The run as it is now, without its steps. */
  get run(): Run {
    return this.#run;
  }

  /** Whether its end is being written: nothing changes it any more. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Its steps so far. */
  get steps(): readonly StepResult[] {
    return this.#execution.steps;
  }

  /** Ends the run. @param reason An AbortError cancels it, other errors make it fail. */
  abort(reason: Error): void {
    this.#scope.abort(reason);
  }

  /** Cancels the run on request. */
  cancel(): void {
    this.#isCancelRequested = true;
    this.abort(new AbortError("the run was cancelled"));
  }

  async #drive(): Promise<void> {
    const { store, plan } = this.#options;
    // Cancellation can also be requested in other processes.
    const unsubscribe = store.subscribe(plan.run.id, (notice) => {
      if (notice === "cancel") this.cancel();
    });
    try {
      await this.#conclude(await this.#execute());
      this.hub.close({ case: "over" });
    } catch (thrown) {
      const isLost = thrown instanceof LeaseLostError;
      this.hub.close(isLost ? { case: "lost" } : { case: "failed", error: toSdkError(thrown) });
    } finally {
      unsubscribe();
      this.#scope.release();
      this.#options.onEnd(this.#run);
    }
  }

  /** Executes the generation. Returns the resulting run, which has not been published yet. */
  async #execute(): Promise<Run> {
    const { signal } = this.#scope;
    let result: GenerateResult;
    try {
      result = await this.#execution.execute(signal);
    } catch (thrown) {
      return runAfterFailure(this.#execution.run, thrown).run;
    }
    return runAfter(this.#execution.run, result, (name) => this.#execution.needsApproval(name));
  }

  /** Writes the final state of the run with all pending changes, and only then publishes it. */
  async #conclude(ended: Run): Promise<void> {
    // The last event must not be written without the change that it announces.
    await this.#journal.stop();
    this.#isEnding = true;
    const run = {
      ...ended,
      lastSequence: this.#journal.lastSequence + 1,
      cancelRequested: this.#isCancelRequested,
    };
    this.#journal.add(0, { case: "run", value: run });
    const change = { run, messages: this.#execution.outputs };
    for (const wait of END_RETRIES_MS)
      try {
        await this.#journal.write(change);
        this.#run = run;
        return;
      } catch (thrown) {
        if (thrown instanceof LeaseLostError) throw thrown;
        await delay(wait);
      }
    await this.#journal.write(change);
    this.#run = run;
  }
}
