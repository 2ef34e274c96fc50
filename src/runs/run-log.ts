import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import type { Run, RunEvent } from "../gen/outrigger/v1/run_pb.ts";
import type { ThreadMessage } from "../gen/outrigger/v1/thread_pb.ts";
import type { EventHub } from "./event-hub.ts";

/** The content of an event. */
export type RunEventValue = RunEvent["event"];

/** An event. Written out: it is made for each event of a model. */
export function createRunEvent(sequence: number, step: number, event: RunEventValue): RunEvent {
  return { $typeName: "outrigger.v1.RunEvent", sequence, step, event };
}

/** The event that says how a run is now. */
export function createStatusEvent(sequence: number, run: Run): RunEvent {
  return createRunEvent(sequence, 0, { case: "run", value: run });
}

/** Takes what happens in a run under way, and delivers its events to the readers. */
export interface RunLog {
  /** Resolves when there is room for more events. Undefined if there is. */
  readonly pace: Promise<void> | undefined;
  /** Adds an event. @param step From 1; 0 outside of a step. */
  add(step: number, event: RunEventValue): void;
  /** Adds a step that the model has answered, with the messages that it adds to the thread. */
  addStep(step: StepResult, messages: readonly ThreadMessage[]): void;
  /** Replaces the latest step, with the messages of its new results. */
  replaceLatestStep(step: StepResult | undefined, messages: readonly ThreadMessage[]): void;
  /** Sets what is known of the run, which is still in progress. */
  update(run: Run): void;
  /** Delivers what was added, now or after the current write. */
  flush(): void;
  /** Resolves when everything that was added is stored. */
  settle(): Promise<void>;
  /**
   * Ends the run with its last event, which is delivered after everything else. Returns the run as it has ended.
   * @param afterFullStore Returns the end of a run whose last changes the store has no space for.
   */
  end(run: Run, afterFullStore: (error: Error) => Run): Promise<Run>;
}

/** The log of a run that is not stored: its caller gets the events, and nothing else is kept. */
export class UnstoredLog implements RunLog {
  readonly pace = undefined;
  readonly #hub: EventHub;
  #next: number;
  #pending: RunEvent[] = [];

  /** @param next Sequence number of the next event. */
  constructor(hub: EventHub, next: number) {
    this.#hub = hub;
    this.#next = next;
  }

  add(step: number, event: RunEventValue): void {
    this.#pending.push(createRunEvent(this.#next, step, event));
    this.#next += 1;
  }

  flush(): void {
    const events = this.#pending;
    this.#pending = [];
    if (events.length > 0) this.#hub.publish(events);
  }

  async end(run: Run): Promise<Run> {
    const ended = { ...run, lastSequence: this.#next };
    this.add(0, { case: "run", value: ended });
    this.flush();
    return ended;
  }

  addStep(): void {}
  replaceLatestStep(): void {}
  update(): void {}
  async settle(): Promise<void> {}
}
