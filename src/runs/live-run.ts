import { AbortError, RequestTimeoutError, toSdkError } from "../core/errors.ts";
import type { GenerateResult, StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import { StepRestart_Reason as Reason, type Run, type RunEvent } from "../gen/outrigger/v1/run_pb.ts";
import { LinkedSignal } from "../generation/loop/linked-signal.ts";
import type { RunOptions } from "./engine.ts";
import { isOutage } from "./errors.ts";
import { EventHub } from "./event-hub.ts";
import { isAbandoned, isRepeated } from "./messages.ts";
import { type RecoveryParts, requeueRun } from "./recovery.ts";
import { RunExecution, type RunPlan } from "./run-execution.ts";
import { HoldLostError, Journal, type JournalTarget } from "./run-log.ts";
import { runAfter, runAfterFailure } from "./status.ts";
import type { Hold, RunWrite, StoredRun } from "./store.ts";

/** Options of a run in progress. */
export interface LiveRunOptions {
  readonly parts: RecoveryParts;
  readonly plan: RunPlan;
  /** The run in the store, and the right to change it. Undefined: it is not stored. */
  readonly stored?: (Pick<StoredRun, "owner" | "request"> & { readonly hold: Hold }) | undefined;
  /** Events so far: already written, not yet published. */
  readonly events: readonly RunEvent[];
  /** Aborts the run: the signal of the caller of a foreground run. */
  readonly signal?: AbortSignal | undefined;
  /** Gets the answers of a run that is not stored. */
  readonly onMessages?: RunOptions["onMessages"];
  /** Called once when the run is over, requires action, or goes on elsewhere. */
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
  /** As it is now, without its steps. */
  run: Run;
  #isCancelRequested = false;
  /** Whether its end is being written: nothing changes it any more. */
  isEnding = false;
  /** Whether the run is to go on elsewhere as soon as possible. */
  #isLeaving = false;
  #interruption: Reason | undefined;

  /** Begins at once. */
  constructor(options: LiveRunOptions) {
    const { parts, plan, stored, signal, events, onMessages } = options;
    this.#options = options;
    this.run = plan.run;
    const next = plan.run.lastSequence + 1;
    const hub = new EventHub(next - events.length);
    this.hub = hub;
    hub.publish(events);
    this.#scope = new LinkedSignal(signal);
    const onFailure = (error: Error) => {
      if (plan.isResumable && isOutage(error)) this.#interrupt(Reason.LOST, error.message);
      else this.abort(toSdkError(error));
    };
    const target =
      stored === undefined ? toCaller(plan.run.id, onMessages) : { store: parts.store, hold: stored.hold };
    this.#journal = new Journal({ ...target, hub, onFailure }, next);
    this.#execution = new RunExecution(plan, this.#journal, hub, () => this.#isLeaving && this.handOver());
    // A run that waits for its reader must continue to notice that it was aborted.
    this.#scope.signal.addEventListener("abort", () => hub.setCaller(undefined), { once: true });
    this.ended = this.#drive();
  }

  /** Undefined if the run is not stored. */
  get owner(): string | undefined {
    return this.#options.stored?.owner;
  }

  get steps(): readonly StepResult[] {
    return this.#execution.steps;
  }

  /** Ends the run. @param reason An AbortError cancels it, other errors make it fail. */
  abort(reason: Error): void {
    this.#scope.abort(reason);
  }

  cancel(): void {
    this.#isCancelRequested = true;
    this.abort(new AbortError("the run was cancelled"));
  }

  /** Ends the execution here, if another process can continue it. */
  handOver(): void {
    this.#isLeaving = true;
    if (!this.#options.plan.isResumable) return;
    // A model is called for a step at most twice: if this is the second call, it may end here.
    const next = this.#execution.steps.length + 1;
    if (isRepeated(this.#execution.run.attempts, next)) return;
    this.#interrupt(Reason.DRAINED, "the sidecar stopped; another one continues the run");
  }

  /** Goes on without a caller that has not read for some time. A run that is not stored ends. */
  giveUpStalledCaller(timeoutMs: number): void {
    if (this.hub.stalledMs < timeoutMs) return;
    const { stored } = this.#options;
    const rest = stored === undefined ? "the run was cancelled" : "the run goes on without this reader";
    const problem = `the events of the run were not read for ${timeoutMs} ms; ${rest}`;
    this.hub.giveUpCaller(new RequestTimeoutError(problem));
    if (stored === undefined) this.abort(new AbortError(problem));
  }

  #interrupt(reason: Reason, why: string): void {
    if (this.isEnding || this.#scope.signal.aborted) return;
    this.#interruption = reason;
    this.abort(new AbortError(why));
  }

  async #drive(): Promise<void> {
    const { parts, plan, stored } = this.#options;
    // Cancellation can also be requested in other processes.
    const unsubscribe =
      stored && parts.store.subscribe(plan.run.id, (notice) => notice === "cancel" && this.cancel());
    try {
      const ended = await this.#execute();
      if (ended === undefined) await this.#leave();
      else await this.#conclude(ended);
    } catch (thrown) {
      // The run is left as the store has it: another process holds it, or this one recovers it when it can.
      const { id, background } = this.run;
      const isLost = thrown instanceof HoldLostError;
      if (!isLost) parts.observer.failed?.(`write the end of the run ${id}`, thrown);
      const goesOn = isLost || background;
      this.hub.close(goesOn ? { case: "elsewhere" } : { case: "failed", error: toSdkError(thrown) });
    } finally {
      unsubscribe?.();
      this.#scope.release();
      this.#options.onEnd(this.run);
    }
  }

  /** Executes the generation. Returns the resulting run, which has not been published yet; undefined if it goes on. */
  async #execute(): Promise<Run | undefined> {
    let result: GenerateResult;
    try {
      result = await this.#execution.execute(this.#scope.signal);
    } catch (thrown) {
      if (this.#interruption !== undefined && !this.#isCancelRequested) return undefined;
      return runAfterFailure(this.#execution.run, thrown);
    }
    return runAfter(this.#execution.run, result, (name) => this.#execution.needsApproval(name));
  }

  /** Writes the final state of the run with all pending changes, and only then publishes it. */
  async #conclude(ended: Run): Promise<void> {
    this.isEnding = true;
    const cancelRequested = this.#isCancelRequested;
    const afterFullStore = (error: Error) => ({
      ...runAfterFailure(this.#execution.run, error),
      cancelRequested,
    });
    this.run = await this.#journal.end({ ...ended, cancelRequested }, afterFullStore);
    this.hub.close({ case: "over" });
  }

  async #leave(): Promise<void> {
    const { parts, plan, stored } = this.#options;
    this.isEnding = true;
    if (stored === undefined) return;
    const { run, steps } = this.#execution;
    const lastSequence = await this.#journal.finish(run);
    const made = run.attempts.filter((attempt) => !plan.run.attempts.includes(attempt));
    const attempt = made.findLast((one) => isAbandoned(one, steps.length + 1));
    const reason = this.#interruption ?? Reason.LOST;
    this.run = { ...run, lastSequence };
    await requeueRun(parts, { ...stored, run: this.run }, { reason, abandoned: { attempt } });
    this.hub.close({ case: "elsewhere" });
  }
}

/** Takes the writes of a run that is not stored: its caller gets the answers, and nothing else is kept. */
function toCaller(
  runId: string,
  onMessages: RunOptions["onMessages"],
): Pick<JournalTarget, "store" | "hold"> {
  const write = async ({ messages = [] }: RunWrite): Promise<boolean> => {
    if (messages.length > 0) onMessages?.(messages);
    return true;
  };
  return { store: { write }, hold: { runId, holderId: "", fence: 0 } };
}
