/** What the store knows of a run that is to be continued: the steps, and the events of the latest one. */

import type { ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import {
  type McpToolStart,
  StepRestart_Reason as Reason,
  type RunEvent,
  RunStatus,
} from "../gen/outrigger/v1/run_pb.ts";
import type { StreamStart } from "../gen/outrigger/v1/stream_event_pb.ts";
import { nextTurn, PAGE_EVENTS } from "./event-hub.ts";
import type { EarlierWork } from "./run-execution.ts";
import type { RunStore, StoredRun } from "./store.ts";

/** How far a run has come. */
export interface RunProgress extends EarlierWork {
  readonly begun: readonly BegunCall[];
  /** The start of the latest model call without a step. */
  readonly openCall: StreamStart | undefined;
  /** Whether the latest process of the run has come as far as calling the model after the latest step. */
  readonly mayHaveCalled: boolean;
  /** How many processes were lost since the latest step. */
  readonly losses: number;
}

/** A call of a tool that was begun. */
export interface BegunCall {
  readonly step: number;
  readonly start: McpToolStart;
}

/** Reads how far a run has come. */
export async function readProgress(store: RunStore, { run, request }: StoredRun): Promise<RunProgress> {
  const steps = await store.readSteps(run.id);
  const tail = new Tail(steps.length);
  for (let end = run.lastSequence + 1; end > 0 && !tail.isComplete; end -= PAGE_EVENTS) {
    const events: RunEvent[] = [];
    // A page with large events has fewer.
    for (let next = Math.max(0, end - PAGE_EVENTS); next < end; ) {
      const page = await store.readEvents(run.id, next - 1, end - next);
      if (page.length === 0) break;
      events.push(...page);
      next += page.length;
    }
    tail.addBefore(events);
    await nextTurn();
  }
  const { begun, openCall, losses, isFinished, isSubmitted } = tail;
  const hasTools = request.mcpServers.length === 0 || tail.hasLists;
  const approvedResults = request.approvals.length === 0 ? [] : await readApprovedResults(store, run.id);
  const mayHaveCalled = openCall !== undefined || (hasTools && begun.length === 0);
  return { steps, begun, openCall, losses, isFinished, isSubmitted, approvedResults, mayHaveCalled };
}

/** Results of calls that were approved before the run: they are executed before its first model call. */
async function readApprovedResults(store: RunStore, runId: string): Promise<readonly ToolResult[]> {
  const results: ToolResult[] = [];
  for (let after = -1; ; ) {
    const events = await store.readEvents(runId, after, PAGE_EVENTS);
    for (const { event } of events) {
      if (event.case === "modelEvent") return results;
      if (event.case === "mcpToolFinish" && event.value.result !== undefined)
        results.push(event.value.result);
    }
    const last = events.at(-1);
    if (last === undefined) return results;
    after = last.sequence;
  }
}

/** The events after the answer of the latest step, read backwards. */
class Tail {
  readonly begun: BegunCall[] = [];
  openCall: StreamStart | undefined;
  losses = 0;
  isFinished = false;
  isSubmitted = false;
  /** Whether the latest process has listed the tools. */
  hasLists = false;
  /** Whether nothing of interest comes before. */
  isComplete = false;
  readonly #steps: number;
  readonly #answered = new Set<string>();
  /** Whether the events are those of the latest process. */
  #isLatest = true;

  constructor(steps: number) {
    this.#steps = steps;
  }

  addBefore(events: readonly RunEvent[]): void {
    for (const event of events.toReversed()) if (!this.isComplete) this.#add(event);
  }

  #add({ event, step }: RunEvent): void {
    const isOfLatestStep = step > 0 && step === this.#steps;
    switch (event.case) {
      case "run":
        if (event.value.status === RunStatus.REQUIRES_ACTION) this.isSubmitted = true;
        if (event.value.status === RunStatus.IN_PROGRESS) this.#isLatest = false;
        return;
      case "modelEvent":
        if (isOfLatestStep) this.isComplete = true;
        else if (this.#isLatest && event.value.event.case === "streamStart")
          this.openCall ??= event.value.event.value;
        return;
      case "stepFinish":
        this.isFinished = isOfLatestStep;
        this.isComplete = isOfLatestStep;
        // A process that has finished a step listed the tools before.
        this.hasLists ||= isOfLatestStep && this.#isLatest;
        return;
      case "mcpToolList":
        this.hasLists ||= this.#isLatest;
        return;
      case "mcpToolFinish":
        this.#answered.add(event.value.result?.toolCallId ?? "");
        return;
      case "mcpToolStart": {
        const { id = "" } = event.value.call ?? {};
        if (!this.#answered.has(id)) this.begun.push({ step, start: event.value });
        this.#answered.add(id);
        return;
      }
      case "stepRestart":
        if (event.value.reason === Reason.LOST) this.losses += 1;
    }
  }
}
