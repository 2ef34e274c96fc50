import { setTimeout as delay } from "node:timers/promises";
import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import type { ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import type { Run, RunEvent } from "../gen/outrigger/v1/run_pb.ts";
import type { ThreadMessage } from "../gen/outrigger/v1/thread_pb.ts";
import { getOpenCalls, withProgress } from "../generation/loop/open-calls.ts";
import { StoreFullError } from "./errors.ts";
import type { EventHub } from "./event-hub.ts";
import { createResultOutputs, createStepOutputs } from "./messages.ts";
import type { Claim, RunStore } from "./store.ts";

/** The content of an event. */
export type RunEventValue = RunEvent["event"];

/** Returns an event. A literal, since `create` would take longer for each event of a model. */
export function createRunEvent(sequence: number, step: number, event: RunEventValue): RunEvent {
  return { $typeName: "outrigger.v1.RunEvent", sequence, step, event };
}

/** Returns the event with the current state of a run. */
export function createStatusEvent(sequence: number, run: Run): RunEvent {
  return createRunEvent(sequence, 0, { case: "run", value: run });
}

/** Maximum number of events waiting for a write before the run has to wait. */
const MAX_PENDING = 256;

/** Delays before the end of a run is written again after failures of the store, in milliseconds. */
const END_RETRIES_MS: readonly number[] = [50, 250, 1_000];

/** Another process has claimed the run, so this process can no longer write to it. */
export class ClaimLostError extends Error {
  constructor(runId: string) {
    super(`this process has lost its claim on the run ${runId}`);
  }
}

/** The run of a journal, and its destinations. */
export interface JournalTarget {
  /** The stored run, and its earlier steps. */
  readonly run: Run;
  readonly steps: readonly StepResult[];
  /** Has the current state of the run. Read by each write after a step, and after `noteChange`. */
  readonly live: { readonly run: Run };
  /** The store and the right to change the run. Undefined: it is not stored. */
  readonly stored?: { readonly store: Pick<RunStore, "write">; readonly claim: Claim } | undefined;
  /** Receives the messages of a run that is not stored. */
  readonly onMessages?: ((messages: readonly ThreadMessage[]) => void) | undefined;
  readonly hub: EventHub;
  /** Called once, if the store failed or the claim is lost. */
  readonly onFailure: (error: Error) => void;
}

interface Pending {
  readonly events: RunEvent[];
  readonly steps: StepResult[];
  readonly messages: ThreadMessage[];
  /** Replaces the latest step of earlier writes. */
  latestStep?: StepResult | undefined;
  /** The run to write: as it has ended, or as it is when it is written. */
  run?: Run | "current" | undefined;
}

/**
 * The log of a run in progress: numbers the events, writes them to the store with the steps and their messages, and
 * publishes them when they are written. One write at a time: later changes are part of the next one.
 */
export class Journal {
  readonly steps: StepResult[];
  readonly #target: JournalTarget;
  #next: number;
  #pending: Pending = nothing();
  #writing: Promise<void> | undefined;
  #failure: Error | undefined;
  #isStopped = false;

  constructor(target: JournalTarget) {
    this.#target = target;
    this.steps = [...target.steps];
    this.#next = target.run.lastSequence + 1;
  }

  /** Resolves when there is room for more events. Undefined if there is room already. */
  get pace(): Promise<void> | undefined {
    return this.#pending.events.length < MAX_PENDING ? undefined : this.#writing;
  }

  /** Adds an event. @param step From 1; 0 outside of a step. */
  add(step: number, event: RunEventValue): void {
    this.#pending.events.push(createRunEvent(this.#next, step, event));
    this.#next += 1;
  }

  /** Adds a step that the model has answered, and its messages to the thread. */
  addStep(step: StepResult): void {
    this.steps.push(step);
    this.#pending.steps.push(step);
    this.#pending.messages.push(...createStepOutputs(this.#target.run, this.steps.length, step));
    this.noteChange();
  }

  /** Replaces the latest step: some of its calls have results now, which are added to the thread. */
  replaceStep(step: StepResult): void {
    const known = new Set(this.steps.at(-1)?.toolResults.map(({ toolCallId }) => toolCallId));
    this.steps.splice(-1, 1, step);
    const { steps } = this.#pending;
    if (steps.length > 0) steps.splice(-1, 1, step);
    else this.#pending.latestStep = step;
    this.#addResults(step.toolResults.filter(({ toolCallId }) => !known.has(toolCallId)));
    this.noteChange();
  }

  /** Adds the result of a call of the latest step, or of one before the run. */
  addResult(result: ToolResult): void {
    const last = this.steps.at(-1);
    const isOfLast = last !== undefined && getOpenCalls(last).some(({ id }) => id === result.toolCallId);
    if (isOfLast) this.replaceStep(withProgress(last, { results: [result], repairedCalls: [] }));
    else this.#addResults([result]);
  }

  #addResults(results: readonly ToolResult[]): void {
    this.#pending.messages.push(...createResultOutputs(this.#target.run.id, results));
  }

  /** Marks the run in progress as changed. */
  noteChange(): void {
    this.#pending.run = "current";
  }

  /** Writes pending changes, now or after the current write. */
  flush(): void {
    const isIdle = this.#writing === undefined && this.#failure === undefined && !this.#isStopped;
    if (!isIdle || !this.#hasPending) return;
    if (this.#target.stored === undefined) return this.#deliver();
    const writePending = async () => {
      try {
        while (this.#hasPending && !this.#isStopped) await this.#write();
      } catch (thrown) {
        this.#failure = thrown instanceof Error ? thrown : new Error(String(thrown));
        this.#target.onFailure(this.#failure);
      } finally {
        this.#writing = undefined;
      }
    };
    this.#writing = writePending();
  }

  /**
   * Resolves when everything that was added is stored.
   * @throws Error if the store has failed: `onFailure` was called with it before.
   */
  async settle(): Promise<void> {
    this.flush();
    await this.#writing;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * Ends the run with its last event, which is delivered after everything else. Returns the run as it has ended.
   * @param afterFullStore Returns the end of a run whose last changes the store has no space for.
   * @throws ClaimLostError; SDKError if the end cannot be written for some seconds.
   */
  async end(run: Run, afterFullStore: (error: Error) => Run): Promise<Run> {
    await this.#stop();
    let ended = this.#addEnd(run);
    await this.#persist((thrown) => {
      if (!(thrown instanceof StoreFullError)) return;
      // There is space for the end of a run, but not for the pending changes. Readers have not seen those, and never
      // will.
      this.#next = this.#pending.events[0]?.sequence ?? this.#next;
      this.#pending = nothing();
      ended = this.#addEnd(afterFullStore(thrown));
    });
    return ended;
  }

  /**
   * Writes the pending changes of a run that continues elsewhere, and nothing after them. Returns the number of the
   * last event.
   * @throws the errors of `end`; StoreFullError.
   */
  async finish(run: Run): Promise<number> {
    await this.#stop();
    this.#pending.run = run;
    await this.#persist((thrown) => {
      if (thrown instanceof StoreFullError) throw thrown;
    });
    return this.#next - 1;
  }

  get #hasPending(): boolean {
    const { events, steps, latestStep } = this.#pending;
    return events.length > 0 || steps.length > 0 || latestStep !== undefined;
  }

  /** Stops automatic writes. Resolves when the current write has ended. */
  async #stop(): Promise<void> {
    this.#isStopped = true;
    await this.#writing;
    if (this.#failure instanceof ClaimLostError) throw this.#failure;
  }

  #addEnd(run: Run): Run {
    const ended = { ...run, lastSequence: this.#next };
    this.add(0, { case: "run", value: ended });
    this.#pending.run = ended;
    return ended;
  }

  /** Writes the last changes, with retries. @param onFailure Called before each further try. */
  async #persist(onFailure: (thrown: unknown) => void): Promise<void> {
    for (const wait of END_RETRIES_MS)
      try {
        return await this.#write();
      } catch (thrown) {
        if (thrown instanceof ClaimLostError) throw thrown;
        onFailure(thrown);
        await delay(wait);
      }
    await this.#write();
  }

  /** Delivers the pending messages of a run that is not stored. */
  #deliver(): void {
    const { hub, onMessages } = this.#target;
    const { events, messages } = this.#pending;
    this.#pending = nothing();
    if (messages.length > 0) onMessages?.(messages);
    if (events.length > 0) hub.publish(events);
  }

  async #write(): Promise<void> {
    const { stored, hub, live } = this.#target;
    if (stored === undefined) return this.#deliver();
    const { store, claim } = stored;
    const pending = this.#pending;
    const { run: known, ...changes } = pending;
    const { events } = changes;
    const run = known === "current" ? live.run : known;
    const lastSequence = events.at(-1)?.sequence ?? this.#next - 1;
    this.#pending = nothing();
    try {
      const write = { ...changes, claim, ...(run === undefined ? {} : { run: { ...run, lastSequence } }) };
      if (!(await store.write(write))) throw new ClaimLostError(claim.runId);
    } catch (thrown) {
      this.#pending = joined(pending, this.#pending);
      throw thrown;
    }
    if (events.length > 0) hub.publish(events);
  }
}

function nothing(): Pending {
  return { events: [], steps: [], messages: [] };
}

/** Returns the content of a failed write, followed by the content that was added since. */
function joined(failed: Pending, later: Pending): Pending {
  const steps = [...failed.steps];
  // The later version of the latest step may belong to a step that was not written.
  const isOfFailed = later.latestStep !== undefined && steps.length > 0;
  if (isOfFailed) steps.splice(-1, 1, ...(later.latestStep === undefined ? [] : [later.latestStep]));
  return {
    events: [...failed.events, ...later.events],
    steps: [...steps, ...later.steps],
    messages: [...failed.messages, ...later.messages],
    latestStep: isOfFailed ? failed.latestStep : (later.latestStep ?? failed.latestStep),
    run: later.run ?? failed.run,
  };
}
