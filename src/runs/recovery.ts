/**
 * Recovers runs that a process has claimed but does not execute. The stored progress of a run decides whether it ends,
 * returns to the queue, or continues with the results of its caller.
 */
import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { AbortError, ServerError, toSdkError } from "../core/errors.ts";
import { yieldTurn } from "../core/loop-turns.ts";
import { toolMessage } from "../core/tools.ts";
import { type Attempt, AttemptSchema } from "../gen/outrigger/v1/attempt_pb.ts";
import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import type { ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import {
  type McpToolStart,
  StepRestart_Reason as Reason,
  type Run,
  type RunEvent,
  RunStatus,
  StepRestartSchema,
} from "../gen/outrigger/v1/run_pb.ts";
import type { SubmitToolResultsRequest } from "../gen/outrigger/v1/run_service_pb.ts";
import type { StreamStart } from "../gen/outrigger/v1/stream_event_pb.ts";
import { failedResult } from "../generation/loop/failed-result.ts";
import { getOpenCalls, withProgress } from "../generation/loop/open-calls.ts";
import { refusedResult } from "./conversation.ts";
import type { RunObserver } from "./engine.ts";
import { isOutage, missing, RunStateError, StoreFullError } from "./errors.ts";
import { PAGE_EVENTS } from "./event-hub.ts";
import { createResultOutputs, isAbandoned, newThreadMessage } from "./messages.ts";
import { checkSubmission, isResumable } from "./read-request.ts";
import { createRunEvent, createStatusEvent, type RunEventValue } from "./run-log.ts";
import { mayRepeat, toolFinishEvent } from "./server-tools.ts";
import { type StatusChange, withStatus } from "./status.ts";
import type { ClaimedRun, Holder, RunStore, StoredRun } from "./store.ts";

/** Maximum number of lost processes per step, so that a run that crashes its process is not retried forever. */
const MAX_LOSSES = 3;

/** Error result for a call of a tool that is not repeated. */
const INTERRUPTED =
  "the sidecar stopped during this call: the call may have taken effect, and was not repeated";

/** The store, and the observer of runs that end. */
export interface RecoveryParts {
  readonly store: RunStore;
  readonly observer: RunObserver;
}

/** Why a run is no longer executed. */
export interface Interruption {
  readonly reason: Reason;
  /**
   * The model call that was in progress, which is one of the run's attempts. If undefined, the store shows whether a
   * call was in progress.
   */
  readonly abandoned?: { readonly attempt: Attempt | undefined } | undefined;
}

/** Decides how a run in progress continues or ends after its process has stopped. */
export async function recoverRun(parts: RecoveryParts, claimed: ClaimedRun): Promise<void> {
  const { run } = claimed;
  if (run.cancelRequested) return cancelClaimedRun(parts, claimed);
  if (!run.background)
    return failClaimedRun(parts, claimed, stopped("the sidecar that executed the run stopped"));
  // Only the process that stopped could have continued it.
  if (!isResumable(claimed)) {
    const credentials = "the credentials of the run's MCP servers, which are not stored";
    const problem = `the sidecar that executed the run stopped, and no other sidecar has ${credentials}`;
    return failClaimedRun(parts, claimed, new ServerError(problem, { retryable: true }));
  }
  try {
    await requeueRun(parts, claimed, { reason: Reason.LOST });
  } catch (thrown) {
    // While the store is unavailable, nothing can be written. Any other failure would repeat.
    if (isOutage(thrown) && !(thrown instanceof StoreFullError)) throw thrown;
    await failClaimedRun(parts, claimed, thrown);
  }
}

/** Releases a run unchanged. */
export async function releaseRun({ store }: RecoveryParts, { claim, run }: ClaimedRun): Promise<void> {
  await store.write({ claim, run });
}

/** Cancels a run. */
export function cancelClaimedRun(parts: RecoveryParts, claimed: ClaimedRun): Promise<void> {
  return endClaimedRun(parts, claimed, RunStatus.CANCELLED, { cancelRequested: true });
}

/** Fails a run. */
export function failClaimedRun(parts: RecoveryParts, claimed: ClaimedRun, thrown: unknown): Promise<void> {
  const { usage } = claimed.run;
  const error = { ...toSdkError(thrown).toProto(), ...(usage && { usage }) };
  return endClaimedRun(parts, claimed, RunStatus.FAILED, { error });
}

async function endClaimedRun(
  { store, observer }: RecoveryParts,
  { claim, run }: ClaimedRun,
  status: RunStatus,
  fields: StatusChange,
): Promise<void> {
  const lastSequence = run.lastSequence + 1;
  const noCalls = { requiredResults: [], requiredApprovals: [] };
  const ended = withStatus(run, status, { ...fields, ...noCalls, lastSequence, endedAt: timestampNow() });
  const events = [createStatusEvent(lastSequence, ended)];
  if (await store.write({ claim, run: ended, events })) observer.runEnded?.(ended);
}

function stopped(what: string): ServerError {
  return new ServerError(`${what} before the run ended`, { retryable: true });
}

/**
 * Puts a run back into the queue, to be continued after its latest complete step by any process. It fails if its model
 * call was made twice already, or too many processes were lost in this step.
 */
export async function requeueRun(
  parts: RecoveryParts,
  claimed: ClaimedRun,
  { reason, abandoned: known }: Interruption,
): Promise<void> {
  const progress = await readProgress(parts.store, claimed);
  const { steps, isSubmitted, isFinished, losses, begun } = progress;
  const last = steps.at(-1);
  const isWaiting = isSubmitted && last !== undefined && getOpenCalls(last).length > 0;
  // Whether the model has answered already, and only the tools of the latest step are continued.
  const continuesAnswer = last !== undefined && (!isFinished || isWaiting);
  const step = steps.length + (continuesAnswer ? 0 : 1);
  const found =
    known === undefined && !continuesAnswer && progress.mayHaveCalled
      ? toAbandonedAttempt(claimed.run, step, progress)
      : undefined;
  const attempt = known?.attempt ?? found;
  const run: Run =
    found === undefined ? claimed.run : { ...claimed.run, attempts: [...claimed.run.attempts, found] };
  const fail = (why: string) => failClaimedRun(parts, { ...claimed, run }, stopped(why));
  if (reason === Reason.LOST && losses >= MAX_LOSSES)
    return fail(`the sidecars that executed step ${step} stopped ${MAX_LOSSES + 1} times`);
  if (attempt !== undefined && run.attempts.filter((each) => isAbandoned(each, step)).length > 1)
    return fail(`the model was called twice for step ${step}, and both times the sidecar stopped`);

  const interrupted = begun.map((call) => toInterruption(run, call)).filter((call) => call !== undefined);
  const results = interrupted.map(({ result }) => result);
  const restart = create(StepRestartSchema, {
    reason,
    continuesAnswer,
    interruptedToolCallIds: results.map(({ toolCallId }) => toolCallId),
    ...(attempt === undefined ? {} : { abandonedAttempt: attempt }),
  });
  const values: [number, RunEventValue][] = [
    ...interrupted.map(({ call, event }): [number, RunEventValue] => [call.step, event]),
    [step, { case: "stepRestart", value: restart }],
  ];
  const first = run.lastSequence + 1;
  const lastSequence = first + values.length;
  const queued = withStatus(run, RunStatus.QUEUED, { lastSequence });
  await parts.store.write({
    claim: claimed.claim,
    run: queued,
    events: [
      ...values.map(([ofStep, value], index) => createRunEvent(first + index, ofStep, value)),
      createStatusEvent(lastSequence, queued),
    ],
    latestStep:
      continuesAnswer && results.length > 0 ? withProgress(last, { results, repairedCalls: [] }) : undefined,
    messages: createResultOutputs(run.id, results),
  });
}

/** Returns the result of a call that was begun, and its event. Undefined if the call may be repeated. */
function toInterruption(run: Run, call: BegunCall) {
  const { serverLabel, toolName, call: toolCall } = call.start;
  const tool = run.mcpTools.find((each) => each.serverLabel === serverLabel && each.toolName === toolName);
  if (toolCall === undefined || (tool !== undefined && mayRepeat(tool))) return undefined;
  const result = failedResult(toolCall, INTERRUPTED);
  return { call, result, event: toolFinishEvent(result, tool) };
}

function toAbandonedAttempt(run: Run, step: number, { openCall }: RunProgress): Attempt {
  const error = new AbortError("the sidecar that made the call stopped before the answer was complete", {
    outputStarted: openCall !== undefined,
  });
  return create(AttemptSchema, {
    provider: openCall?.provider ?? run.provider,
    model: openCall?.model ?? run.model,
    inferenceId: openCall?.inferenceId ?? "",
    step,
    ...(openCall?.startedAt === undefined ? {} : { startedAt: openCall.startedAt }),
    error: error.toProto(),
  });
}

/** A run that continues after its caller has acted. */
export interface Submission {
  /** IN_PROGRESS and claimed by this process, or QUEUED. */
  readonly claimed: ClaimedRun;
  /** Its steps with the submitted results. Calls of the last step without a result were approved. */
  readonly steps: readonly StepResult[];
}

/**
 * Claims the run and writes the submitted results.
 * @param status The next status: QUEUED, or IN_PROGRESS to execute it in this process.
 * @throws InvalidRequestError unless each call that waits gets one result or approval; RunStateError.
 */
export async function submitResults(
  { store, holder }: { readonly store: RunStore; readonly holder: Holder },
  request: SubmitToolResultsRequest,
  found: StoredRun,
  status: RunStatus,
): Promise<Submission> {
  const { results, approvals } = request;
  const runId = found.run.id;
  checkWaiting(found.run);
  checkSubmission(request, found.run);
  const claimed = await store.claim(runId, holder);
  if (claimed === undefined) throw await claimedByAnother(store, found);
  checkWaiting(claimed.run);
  const refused = approvals.flatMap((approval) => (approval.approve ? [] : [refusedResult(approval)]));
  const steps = [...(await store.readSteps(runId))];
  const last = steps.at(-1);
  let latestStep: StepResult | undefined;
  if (last !== undefined && getOpenCalls(last).length > 0) {
    latestStep = withProgress(last, { results: [...results, ...refused], repairedCalls: [] });
    steps.splice(-1, 1, latestStep);
  }
  const lastSequence = claimed.run.lastSequence + 1;
  const run = withStatus(claimed.run, status, { requiredResults: [], requiredApprovals: [], lastSequence });
  delete run.endedAt;
  const messages = [
    ...results.map((result) => newThreadMessage({ message: toolMessage(result), originJson: "" }, { runId })),
    ...createResultOutputs(runId, refused),
  ];
  const events = [createStatusEvent(lastSequence, run)];
  if (!(await store.write({ claim: claimed.claim, run, events, latestStep, messages })))
    throw await claimedByAnother(store, found);
  return { claimed: { ...claimed, run }, steps };
}

function checkWaiting({ id, status }: Run): void {
  if (status !== RunStatus.REQUIRES_ACTION)
    throw new RunStateError("run_id", id, status, "one that requires action");
}

async function claimedByAnother(store: RunStore, { owner, run }: StoredRun): Promise<Error> {
  const now = await store.getRun(owner, run.id);
  if (now === undefined) return missing("run", run.id, "run_id");
  const expected = "one that requires action and is not being continued";
  return new RunStateError("run_id", run.id, now.run.status, expected);
}

/** The progress of a run before it required action, or before its process stopped. */
export interface EarlierWork {
  readonly steps: readonly StepResult[];
  /** Whether the caller has answered the calls of the latest step: those without a result are approved. */
  readonly isSubmitted: boolean;
  /** Whether the event that ends the latest step is stored. */
  readonly isFinished: boolean;
  /** Results of approved calls in the conversation before the run. */
  readonly approvedResults: readonly ToolResult[];
}

/** The progress of a run. */
export interface RunProgress extends EarlierWork {
  readonly begun: readonly BegunCall[];
  /** The start of the latest model call without a step. */
  readonly openCall: StreamStart | undefined;
  /** Whether the latest process of the run may have called the model after the latest step. */
  readonly mayHaveCalled: boolean;
  /** How many processes were lost since the latest step. */
  readonly losses: number;
}

/** A call of a tool that was begun. */
export interface BegunCall {
  readonly step: number;
  readonly start: McpToolStart;
}

/** Reads the progress of a run. */
export async function readProgress(store: RunStore, { run, request }: StoredRun): Promise<RunProgress> {
  const steps = await store.readSteps(run.id);
  const tail = new Tail(steps.length);
  for (let end = run.lastSequence + 1; end > 0 && !tail.isComplete; end -= PAGE_EVENTS) {
    const events: RunEvent[] = [];
    // A page of large events is shorter.
    for (let next = Math.max(0, end - PAGE_EVENTS); next < end; ) {
      const page = await store.readEvents(run.id, next - 1, end - next);
      if (page.length === 0) break;
      events.push(...page);
      next += page.length;
    }
    tail.addBefore(events);
    const turn = yieldTurn();
    if (turn !== undefined) await turn;
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
  /** Whether earlier events are irrelevant. */
  isComplete = false;
  readonly #steps: number;
  readonly #answered = new Set<string>();
  /** Whether the events were written by the latest process. */
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
