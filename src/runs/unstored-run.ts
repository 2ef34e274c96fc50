import { create } from "@bufbuild/protobuf";
import { responseWithoutContent, withoutContent } from "../client/final-response.ts";
import { AbortError, RequestTimeoutError, type SDKError } from "../core/errors.ts";
import { yieldTurn } from "../core/loop-turns.ts";
import { type GenerateResult, StepFinishSchema, type StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import type { Run, RunEvent } from "../gen/outrigger/v1/run_pb.ts";
import type { Generation } from "../generation/contract/options.ts";
import { AttemptLog } from "../generation/loop/attempt-log.ts";
import { LinkedSignal } from "../generation/loop/linked-signal.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";
import { NO_TOOLS } from "../generation/loop/step-tools.ts";
import { type LoopItem, runToolLoop } from "../generation/loop/tool-loop.ts";
import type { RunOptions } from "./engine.ts";
import { createStepOutputs } from "./messages.ts";
import { createRunEvent, type RunEventValue } from "./run-log.ts";
import { runAfter, runAfterFailure, sumUsage } from "./status.ts";

/** What a run without a store executes. */
export interface UnstoredRunOptions extends Pick<RunOptions, "signal" | "deadline" | "onMessages"> {
  /** IN_PROGRESS. */
  readonly run: Run;
  readonly client: ModelClient;
  /** With the whole conversation in its request. */
  readonly generation: Generation;
  /** Whether the model is called for streams. Otherwise there are no events of its answers. */
  readonly isStreamed: boolean;
  /** Returns the error of the run, with the fields of its caller's request. */
  readonly toFailure: (thrown: unknown) => SDKError;
  /** Called once when the run has ended. */
  readonly onEnd: (run: Run) => void;
}

type Result = IteratorResult<readonly RunEvent[], undefined>;

const DONE: Result = { done: true, value: undefined };

const NO_CALLS = () => false;

/**
 * A run of a waiting caller that is neither stored nor uses tools of servers: nobody else can ever see it. It begins at
 * once, proceeds while its events are read or its result is waited for, and needs no log.
 */
export class UnstoredRun implements AsyncIterableIterator<readonly RunEvent[], undefined> {
  /** Resolves when the run has ended. */
  readonly ended: Promise<void>;
  readonly #options: UnstoredRunOptions;
  readonly #scope: LinkedSignal;
  readonly #loop: AsyncGenerator<LoopItem, GenerateResult>;
  readonly #attempts = new AttemptLog();
  readonly #steps: StepResult[] = [];
  readonly #onEnded: () => void;
  #run: Run;
  #sequence: number;
  /** Events that were not read yet. */
  #events: RunEvent[] = [];
  /** Settles when the next item of the loop has been taken. */
  #advancing: Promise<void> | undefined;
  #hasBegun = false;
  /** Whether an answer is among the events that is complete: it comes with what follows it at once. */
  #isBetweenSteps = false;
  #isOver = false;
  /** Thrown by the next read. */
  #failure: SDKError | undefined;
  /** Since when nobody reads, in milliseconds of `performance.now()`. Undefined while somebody does. */
  #unreadSince: number | undefined = performance.now();

  constructor(options: UnstoredRunOptions) {
    const { run, client, generation, isStreamed, signal, deadline } = options;
    const { totalMs = 0 } = generation.timeouts ?? {};
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#onEnded = resolve;
    this.#options = options;
    this.#run = run;
    this.#sequence = run.lastSequence;
    this.#add(0, { case: "run", value: run });
    const scope = new LinkedSignal(signal, { ms: totalMs, what: "the generation" });
    const log = this.#attempts;
    this.#scope = scope;
    this.#loop = runToolLoop({ ...generation, client, executor: NO_TOOLS, isStreamed, scope, deadline, log });
    void this.#advance();
    if (signal.aborted) void this.#onAbort();
    else scope.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Result> {
    this.#hasBegun = true;
    this.#unreadSince = undefined;
    while (!this.#hasBatch && !this.#isOver) await this.#advance();
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
    const value = this.#events;
    if (value.length === 0) return DONE;
    this.#events = [];
    this.#unreadSince = performance.now();
    return { done: false, value };
  }

  /** Cancels the run if it has not ended. Resolves when it has. */
  async return(): Promise<Result> {
    this.abort(new AbortError("the caller disconnected"));
    await this.ended;
    this.#events = [];
    return DONE;
  }

  /** Returns the run with its steps when it has ended. Its events are dropped unless they are being read. */
  readonly result = async (): Promise<Run> => {
    if (this.#hasBegun) await this.ended;
    this.#unreadSince = undefined;
    while (!this.#isOver) {
      if (this.#options.isStreamed) this.#events = [];
      await this.#advance();
    }
    return { ...this.#run, steps: this.#steps };
  };

  /** Ends the run. @param reason An AbortError cancels it, other errors make it fail. */
  abort(reason: SDKError): void {
    if (!this.#isOver) this.#scope.abort(reason);
  }

  /** Ends the run if its events have not been read for some time. */
  giveUpStalledCaller(timeoutMs: number): void {
    if (this.#isOver || performance.now() - (this.#unreadSince ?? Infinity) < timeoutMs) return;
    const problem = `the events of the run were not read for ${timeoutMs} ms; the run was cancelled`;
    this.#failure = new RequestTimeoutError(problem);
    this.abort(new AbortError(problem));
  }

  get #hasBatch(): boolean {
    return this.#events.length > 0 && !this.#isBetweenSteps;
  }

  /** Nobody may be reading: the run ends all the same. */
  readonly #onAbort = async (): Promise<void> => {
    while (!this.#isOver) await this.#advance();
  };

  /** Takes the next item of the loop, or waits until that is done if it has begun. */
  #advance(): Promise<void> {
    this.#advancing ??= this.#takeNext();
    return this.#advancing;
  }

  async #takeNext(): Promise<void> {
    try {
      const item = await this.#loop.next();
      // A large whole answer was parsed at once, and is written at once.
      const turn = this.#options.isStreamed ? undefined : yieldTurn();
      if (turn !== undefined) await turn;
      if (item.done === true) this.#end(runAfter(this.#run, item.value, NO_CALLS));
      else this.#take(item.value);
    } catch (thrown) {
      const usage = sumUsage(this.#steps);
      const attempts = [...this.#attempts.attempts];
      const run = { ...this.#run, attempts, ...(usage === undefined ? {} : { usage }) };
      this.#end(runAfterFailure(run, this.#options.toFailure(thrown)));
    }
    this.#advancing = undefined;
  }

  #take(item: LoopItem): void {
    this.#isBetweenSteps = item.case === "stepFinish" || item.events.at(-1)?.event.case === "finish";
    if (item.case === "stepFinish") return this.#finishStep(item.step, item.result);
    // Without the content that the deltas already contain.
    for (const event of item.events)
      this.#add(item.step, { case: "modelEvent", value: withoutContent(event) });
  }

  #finishStep(step: number, result: StepResult): void {
    const { isStreamed, onMessages } = this.#options;
    const { response } = result;
    this.#steps.push(result);
    onMessages?.(createStepOutputs(this.#run, step, result));
    if (!isStreamed) return;
    const finished =
      response === undefined ? result : { ...result, response: responseWithoutContent(response) };
    this.#add(step, { case: "stepFinish", value: create(StepFinishSchema, { result: finished }) });
  }

  #add(step: number, event: RunEventValue): void {
    this.#events.push(createRunEvent(this.#sequence, step, event));
    this.#sequence += 1;
  }

  /** @param run A new object. */
  #end(run: Run): void {
    run.lastSequence = this.#sequence;
    this.#run = run;
    this.#add(0, { case: "run", value: this.#run });
    this.#isOver = true;
    this.#scope.release();
    this.#scope.signal.removeEventListener("abort", this.#onAbort);
    this.#options.onEnd(this.#run);
    this.#onEnded();
  }
}
