import { create } from "@bufbuild/protobuf";
import { responseWithoutContent, withoutContent } from "../client/final-response.ts";
import { AbortError, errorFromProto, RequestTimeoutError, toSdkError } from "../core/errors.ts";
import { yieldTurn } from "../core/loop-turns.ts";
import { isPaused } from "../core/response.ts";
import type { TraceContext } from "../core/trace-context.ts";
import {
  type GenerateResult,
  GenerateResultSchema,
  StepFinishSchema,
  type StepResult,
} from "../gen/outrigger/v1/generation_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { StepRestart_Reason as Reason, type Run } from "../gen/outrigger/v1/run_pb.ts";
import { AttemptLog } from "../generation/loop/attempt-log.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";
import { getOpenCalls } from "../generation/loop/open-calls.ts";
import { NO_TOOLS, type ToolExecutor } from "../generation/loop/step-tools.ts";
import { type LoopItem, runToolLoop } from "../generation/loop/tool-loop.ts";
import { LinkedSignal } from "../kit/call/linked-signal.ts";
import { toStreamEvents } from "./answer-events.ts";
import {
  type CheckedConversation,
  type ConversationParts,
  composeConversation,
  createModelRequest,
  withRunFields,
} from "./conversation.ts";
import type { RunOptions } from "./engine.ts";
import { isOutage } from "./errors.ts";
import { EventHub } from "./event-hub.ts";
import type { ConcurrencyLimiter } from "./limits.ts";
import { isAbandoned, isRepeated } from "./messages.ts";
import type { RunDraft } from "./read-request.ts";
import { type EarlierWork, type RecoveryParts, requeueRun } from "./recovery.ts";
import { ClaimLostError, createStatusEvent, Journal } from "./run-log.ts";
import {
  getFunctionNames,
  type OpenedServerTools,
  ServerToolExecutor,
  type ServerTools,
} from "./server-tools.ts";
import { runAfter, runAfterFailure, sumUsage } from "./status.ts";
import type { Claim, StoredRun } from "./store.ts";

/** The work of a run. */
export interface RunPlan extends Pick<RunDraft, "generation" | "servers" | "knownTools" | "inputPath"> {
  /** The stored run: IN_PROGRESS. */
  readonly run: Run;
  readonly client: ModelClient;
  /** Text of the system message. Empty: none. */
  readonly system: string;
  readonly conversation: ConversationParts;
  /** The checked conversation and its request, if nothing is added before the model is called. */
  readonly checked?: CheckedConversation | undefined;
  /** The progress that the run has already made. Undefined if it is new. */
  readonly earlier?: EarlierWork | undefined;
  /** The trace of the call that created the run. */
  readonly trace: TraceContext | undefined;
  /** The caller's deadline, in milliseconds of `performance.now()`. */
  readonly deadline?: number | undefined;
  /** Whether the model's answers are streamed. Otherwise the events of an answer are created when it is complete. */
  readonly isStreamed: boolean;
  /** Whether another process may continue the run: then a tool is called only when the start of the call is stored. */
  readonly isResumable: boolean;
}

/** The parts of an engine that its runs use. */
interface LiveParts extends RecoveryParts {
  readonly serverTools: ServerTools;
  readonly limiters: { readonly tools: ConcurrencyLimiter };
}

/** Options of a run in progress. */
export interface LiveRunOptions extends Partial<Pick<RunOptions, "signal" | "onMessages">> {
  /** The run in the store, and the right to change it. Undefined: it is not stored. */
  readonly stored?: (Pick<StoredRun, "owner" | "request"> & { readonly claim: Claim }) | undefined;
  /** Called once when the run is over, requires action, or continues elsewhere. */
  readonly onEnd: (run: Run) => void;
}

/**
 * A run that this process executes, once it is IN_PROGRESS in the store. Its events, steps and messages go to the
 * journal. It can be aborted, cancelled or handed over.
 */
export class LiveRun {
  readonly hub: EventHub;
  /** Resolves when this process is done with the run. Never rejects. */
  readonly ended: Promise<void>;
  /** Its owner. Undefined if the run is not stored. */
  readonly owner: string | undefined;
  /** Whether its end is being written. Nothing can change the run from then on. */
  isEnding = false;
  readonly #parts: LiveParts;
  readonly #plan: RunPlan;
  readonly #options: LiveRunOptions;
  readonly #journal: Journal;
  readonly #scope: LinkedSignal;
  readonly #attempts: AttemptLog;
  #tools: OpenedServerTools | undefined;
  #run: Run;
  /** Set when this process is done with the run. */
  #endedRun: Run | undefined;
  #isCancelRequested = false;
  /** Whether the run has to continue elsewhere as soon as possible. */
  #isHandedOver = false;
  #interruption: Reason | undefined;

  /** Starts immediately. */
  constructor(parts: LiveParts, plan: RunPlan, options: LiveRunOptions) {
    const { run, isResumable } = plan;
    const { stored, signal, onMessages } = options;
    this.#parts = parts;
    this.#plan = plan;
    this.#options = options;
    const { warnings = [] } = plan.checked?.conversation ?? {};
    this.#run = warnings.length === 0 ? run : { ...run, warnings: [...warnings] };
    this.owner = stored?.owner;
    this.#attempts = new AttemptLog(run.attempts);
    const hub = new EventHub(run.lastSequence, stored === undefined);
    this.hub = hub;
    // The store has this event already.
    hub.publish([createStatusEvent(run.lastSequence, run)]);
    this.#scope = new LinkedSignal(signal);
    const onFailure = (error: Error) => {
      if (isResumable && isOutage(error)) this.#interrupt(Reason.LOST, error.message);
      else this.abort(toSdkError(error));
    };
    const steps = plan.earlier?.steps ?? [];
    const target = stored && { store: parts.store, claim: stored.claim };
    this.#journal = new Journal({ run, steps, live: this, stored: target, onMessages, hub, onFailure });
    // A run that waits for its reader must stop waiting, so that it notices that it was aborted.
    this.#scope.signal.addEventListener("abort", () => hub.setCaller(undefined), { once: true });
    this.ended = this.#drive();
  }

  get steps(): readonly StepResult[] {
    return this.#journal.steps;
  }

  /** The current run without its steps. */
  get run(): Run {
    if (this.#endedRun !== undefined) return this.#endedRun;
    const usage = sumUsage(this.steps);
    return { ...this.#run, attempts: [...this.#attempts.attempts], ...(usage && { usage }) };
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
    this.#isHandedOver = true;
    if (!this.#plan.isResumable) return;
    // A model is called for a step at most twice: if this is the second call, it may end here.
    if (isRepeated(this.#attempts.attempts, this.steps.length + 1)) return;
    this.#interrupt(Reason.DRAINED, "the sidecar stopped; another sidecar continues the run");
  }

  /** Continues without a caller that has not read for some time. A run that is not stored ends. */
  detachStalledCaller(timeoutMs: number): void {
    if (this.hub.stalledMs < timeoutMs) return;
    const isStored = this.#options.stored !== undefined;
    const rest = isStored ? "the run continues without this reader" : "the run was cancelled";
    const problem = `the events of the run were not read for ${timeoutMs} ms; ${rest}`;
    this.hub.failCaller(new RequestTimeoutError(problem));
    if (!isStored) this.abort(new AbortError(problem));
  }

  #interrupt(reason: Reason, why: string): void {
    if (this.isEnding || this.#scope.signal.aborted) return;
    this.#interruption = reason;
    this.abort(new AbortError(why));
  }

  async #drive(): Promise<void> {
    const { store, observer } = this.#parts;
    const { stored, onEnd } = this.#options;
    const { id, background } = this.#run;
    // Cancellation can also be requested in other processes.
    const unsubscribe = stored && store.subscribe(id, (notice) => notice === "cancel" && this.cancel());
    try {
      const ended = await this.#generate();
      this.isEnding = true;
      if (ended === undefined) await this.#requeue();
      else {
        const cancelRequested = this.#isCancelRequested;
        const fail = (error: Error) => ({ ...runAfterFailure(this.run, error), cancelRequested });
        // Written with all pending changes, and published only then.
        this.#endedRun = await this.#journal.end({ ...ended, cancelRequested }, fail);
        this.hub.close({ case: "over" });
      }
    } catch (thrown) {
      // The run is left as the store has it: another process has claimed it, or this one recovers it when it can.
      const isLost = thrown instanceof ClaimLostError;
      if (!isLost) observer.failed?.(`write the end of the run ${id}`, thrown);
      const continues = isLost || background;
      this.hub.close(continues ? { case: "elsewhere" } : { case: "failed", error: toSdkError(thrown) });
    } finally {
      unsubscribe?.();
      this.#scope.release();
      onEnd(this.run);
    }
  }

  /**
   * Executes the generation. Returns the resulting run, which has not been published yet; undefined if it continues.
   */
  async #generate(): Promise<Run | undefined> {
    try {
      const result = await this.#execute(this.#scope.signal);
      return runAfter(this.run, result, (name) => this.#tools?.needsApproval(name) === true);
    } catch (thrown) {
      if (this.#interruption !== undefined && !this.#isCancelRequested) return undefined;
      return runAfterFailure(this.run, thrown);
    }
  }

  async #requeue(): Promise<void> {
    const { stored } = this.#options;
    if (stored === undefined) return;
    const { run } = this;
    this.#endedRun = { ...run, lastSequence: await this.#journal.finish(run) };
    const made = run.attempts.filter((attempt) => !this.#plan.run.attempts.includes(attempt));
    const attempt = made.findLast((one) => isAbandoned(one, this.steps.length + 1));
    const reason = this.#interruption ?? Reason.LOST;
    await requeueRun(this.#parts, { ...stored, run: this.#endedRun }, { reason, abandoned: { attempt } });
    this.hub.close({ case: "elsewhere" });
  }

  /** Runs until the model has answered, a limit is reached, or the caller must act. */
  async #execute(signal: AbortSignal): Promise<GenerateResult> {
    const { servers, system, inputPath, earlier, checked } = this.#plan;
    try {
      const executor = servers.length === 0 ? undefined : await this.#openTools(signal);
      const last = this.steps.at(-1);
      if (earlier?.isSubmitted && last !== undefined)
        await executor?.executeApproved(getOpenCalls(last), signal);
      const { conversation, request } = checked ?? (await this.#prepareRequest(executor, signal));
      try {
        return await this.#runLoop(request, executor ?? NO_TOOLS, signal);
      } catch (thrown) {
        throw withRunFields(toSdkError(thrown), { system, conversation, inputPath });
      }
    } finally {
      await this.#tools?.close();
    }
  }

  /** Connects to the MCP servers. */
  async #openTools(signal: AbortSignal): Promise<ServerToolExecutor> {
    const { servers, knownTools: known, generation, trace, run } = this.#plan;
    const { serverTools, limiters } = this.#parts;
    const takenNames = getFunctionNames(generation.request.tools);
    const options = { signal, takenNames, known, trace, isBackground: run.background };
    const tools = await serverTools.open(servers, options);
    this.#tools = tools;
    for (const value of tools.lists) this.#journal.add(0, { case: "mcpToolList", value });
    this.#run = { ...this.#run, mcpTools: tools.lists.flatMap((list) => list.tools) };
    this.#journal.noteChange();
    // To other processes, stored lists mean that the model may have been called.
    await this.#persist();
    const error = tools.lists.find((list) => list.error !== undefined)?.error;
    if (error !== undefined) throw errorFromProto(error);
    return new ServerToolExecutor({
      tools,
      limiter: limiters.tools,
      timeoutMs: generation.perToolMs,
      onStart: async (step, event) => {
        this.#journal.add(step, event);
        await this.#persist();
      },
      onFinish: (step, event, result) => {
        this.#journal.add(step, event);
        this.#journal.addResult(result);
        this.#journal.flush();
      },
    });
  }

  /** Returns the request to the model, after the calls of the previous run that were approved. */
  async #prepareRequest(
    executor: ServerToolExecutor | undefined,
    signal: AbortSignal,
  ): Promise<CheckedConversation> {
    const { conversation: parts, generation, system, earlier } = this.#plan;
    const results = new Map(earlier?.approvedResults.map((result) => [result.toolCallId, result]));
    let conversation = composeConversation(parts, results);
    const { approved, warnings } = conversation;
    if (warnings.length > 0) this.#run = { ...this.#run, warnings: [...warnings] };
    if (approved.length > 0) {
      for (const result of (await executor?.executeApproved(approved, signal)) ?? [])
        results.set(result.toolCallId, result);
      conversation = composeConversation(parts, results);
    }
    const request = createModelRequest(generation.request, system, conversation);
    request.tools = [...request.tools, ...(this.#tools?.tools ?? [])];
    return { conversation, request };
  }

  async #runLoop(request: Request, executor: ToolExecutor, signal: AbortSignal): Promise<GenerateResult> {
    const { generation, client, deadline, isStreamed, earlier } = this.#plan;
    // After an interruption, the loop decides again how the latest step continues.
    const answeredStep = earlier?.isSubmitted ? undefined : this.steps.at(-1);
    const previousSteps = answeredStep === undefined ? [...this.steps] : this.steps.slice(0, -1);
    const options = { request, client, executor, isStreamed, signal, deadline, previousSteps, answeredStep };
    const loop = runToolLoop({
      ...generation,
      ...options,
      log: this.#attempts,
      // Before its tools are executed, so that the answer outlives this process.
      onAnswer: async (step, result) => {
        const turn = isStreamed ? undefined : yieldTurn();
        if (turn !== undefined) await turn;
        if (step > this.steps.length) this.#addStep(result);
        await this.#persist();
      },
    });
    try {
      for (let item = await loop.next(); ; item = await loop.next()) {
        if (item.done === true) return item.value;
        // The events of a large whole answer are made at once, after it was parsed.
        const turn = isStreamed ? undefined : yieldTurn();
        if (turn !== undefined) await turn;
        this.#record(item.value);
        if (this.#callsModelNext(item.value)) await this.#persist();
        const pace = this.hub.pace ?? this.#journal.pace;
        if (pace !== undefined) await pace;
      }
    } catch (thrown) {
      await loop.return(create(GenerateResultSchema));
      throw thrown;
    }
  }

  /**
   * Reports whether the model is called next in a run that another process may continue. Until the end of the step is
   * stored, that process would assume that the step is in progress, and would not know of the call.
   */
  #callsModelNext(item: LoopItem): boolean {
    if (!this.#plan.isResumable || item.case !== "stepFinish") return false;
    return item.result.toolResults.length > 0 || isPaused(item.result.response);
  }

  /**
   * Whether step events are published: if they can be read, or if the order of MCP tool events in a response depends on
   * them.
   */
  get #publishesSteps(): boolean {
    const { run, isStreamed, servers } = this.#plan;
    return run.stored || isStreamed || servers.length > 0;
  }

  #record(item: LoopItem): void {
    if (item.case === "stepFinish") return this.#finishStep(item.step, item.result);
    // The deltas already have the content.
    for (const event of item.events)
      this.#journal.add(item.step, { case: "modelEvent", value: withoutContent(event) });
    // An answer is written together with its step, so that it is stored as a whole or not at all.
    if (item.events.at(-1)?.event.case !== "finish") this.#journal.flush();
  }

  /** Writes what is pending. Waits for it if another process may continue the run. */
  async #persist(): Promise<void> {
    if (this.#plan.isResumable) await this.#journal.settle();
    else this.#journal.flush();
  }

  #finishStep(step: number, result: StepResult): void {
    const { response } = result;
    if (step > this.steps.length) this.#addStep(result);
    else this.#journal.replaceStep(result);
    if (this.#isHandedOver) this.handOver();
    const { earlier } = this.#plan;
    if (!this.#publishesSteps || (earlier?.isFinished && step === earlier.steps.length)) return;
    const finished = response ? { ...result, response: responseWithoutContent(response) } : result;
    this.#journal.add(step, { case: "stepFinish", value: create(StepFinishSchema, { result: finished }) });
    // Deferred: if the run ends with this step, one write covers both.
    setImmediate(() => this.#journal.flush());
  }

  #addStep(step: StepResult): void {
    this.#journal.addStep(step);
    if (this.#plan.isStreamed || !this.#publishesSteps || step.response === undefined) return;
    for (const value of toStreamEvents(step.response))
      this.#journal.add(this.steps.length, { case: "modelEvent", value });
  }
}
