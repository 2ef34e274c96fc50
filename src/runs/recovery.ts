/** Runs that a process holds and does not execute: they end here, or go back into the queue. */
import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { AbortError, ServerError, toSdkError } from "../core/errors.ts";
import { type Attempt, AttemptSchema } from "../gen/outrigger/v1/attempt_pb.ts";
import {
  StepRestart_Reason as Reason,
  type Run,
  RunStatus,
  StepRestartSchema,
} from "../gen/outrigger/v1/run_pb.ts";
import { failedResult } from "../generation/loop/failed-result.ts";
import { getOpenCalls, withProgress } from "../generation/loop/open-calls.ts";
import type { RunObserver } from "./engine.ts";
import { isOutage, StoreFullError } from "./errors.ts";
import { createResultOutputs, isAbandoned } from "./messages.ts";
import { type BegunCall, type RunProgress, readProgress } from "./progress.ts";
import { hasSecrets } from "./read-request.ts";
import { createRunEvent, createStatusEvent, type RunEventValue } from "./run-log.ts";
import { mayRepeat, toolFinishEvent } from "./server-tools.ts";
import { type StatusChange, withStatus } from "./status.ts";
import type { HeldRun, RunStore } from "./store.ts";

/** How many processes may be lost in one step, so that a run that ends its processes is not executed for ever. */
const MAX_LOSSES = 3;

/** Error result for a call of a tool that is not repeated. */
const INTERRUPTED =
  "the sidecar stopped while this call was executed: it may have had its effect, and it was not repeated";

/** The store of runs, and who is notified of their ends. */
export interface RecoveryParts {
  readonly store: RunStore;
  readonly observer: RunObserver;
}

/** Why a run is not executed any more. */
export interface Interruption {
  readonly reason: Reason;
  /**
   * The model call that was under way, which the run has among its attempts. Undefined: the store shows whether a call was
   * under way.
   */
  readonly abandoned?: { readonly attempt: Attempt | undefined } | undefined;
}

/** Whether a run can go on in another process. */
export function isResumable({ run, request }: Pick<HeldRun, "run" | "request">): boolean {
  return run.background && run.stored && !request.mcpServers.some(hasSecrets);
}

/** Decides what becomes of a run in progress whose process has stopped. */
export async function recoverRun(parts: RecoveryParts, held: HeldRun): Promise<void> {
  const { run } = held;
  if (run.cancelRequested) return cancelHeldRun(parts, held);
  if (!run.background) return failHeldRun(parts, held, stopped("the sidecar that executed the run stopped"));
  // Only its process could have continued it.
  if (!isResumable(held))
    return failHeldRun(
      parts,
      held,
      new ServerError(
        "the sidecar that executed the run stopped, and no other one has the credentials of the run's MCP servers, " +
          "which are not stored",
        { retryable: true },
      ),
    );
  try {
    await requeueRun(parts, held, { reason: Reason.LOST });
  } catch (thrown) {
    // While the store is away nothing can be written. Any other failure would come again.
    if (isOutage(thrown) && !(thrown instanceof StoreFullError)) throw thrown;
    await failHeldRun(parts, held, thrown);
  }
}

/** Gives a run back as it is. */
export async function releaseRun({ store }: RecoveryParts, { hold, run }: HeldRun): Promise<void> {
  await store.write({ hold, run });
}

/** Cancels a run. */
export function cancelHeldRun(parts: RecoveryParts, held: HeldRun): Promise<void> {
  return endHeldRun(parts, held, RunStatus.CANCELLED, { cancelRequested: true });
}

/** Fails a run. */
export function failHeldRun(parts: RecoveryParts, held: HeldRun, thrown: unknown): Promise<void> {
  const { usage } = held.run;
  const error = { ...toSdkError(thrown).toProto(), ...(usage === undefined ? {} : { usage }) };
  return endHeldRun(parts, held, RunStatus.FAILED, { error });
}

async function endHeldRun(
  { store, observer }: RecoveryParts,
  { hold, run }: HeldRun,
  status: RunStatus,
  fields: StatusChange,
): Promise<void> {
  const lastSequence = run.lastSequence + 1;
  const noCalls = { requiredResults: [], requiredApprovals: [] };
  const ended = withStatus(run, status, { ...fields, ...noCalls, lastSequence, endedAt: timestampNow() });
  const events = [createStatusEvent(lastSequence, ended)];
  if (await store.write({ hold, run: ended, events })) observer.runEnded?.(ended);
}

function stopped(what: string): ServerError {
  return new ServerError(`${what} before the run was over`, { retryable: true });
}

/**
 * Puts a run back into the queue, to be continued after its latest complete step by any process. It fails if its model
 * call was made twice already, or too many processes were lost in this step.
 */
export async function requeueRun(
  parts: RecoveryParts,
  held: HeldRun,
  { reason, abandoned: known }: Interruption,
): Promise<void> {
  const progress = await readProgress(parts.store, held);
  const { steps, isSubmitted, isFinished, losses, begun } = progress;
  const last = steps.at(-1);
  const isWaiting = isSubmitted && last !== undefined && getOpenCalls(last).length > 0;
  // Whether the model has answered already, and only the tools of the latest step are continued.
  const continuesAnswer = last !== undefined && (!isFinished || isWaiting);
  const step = steps.length + (continuesAnswer ? 0 : 1);
  const found =
    known === undefined && !continuesAnswer && progress.mayHaveCalled
      ? toAbandonedAttempt(held.run, step, progress)
      : undefined;
  const attempt = known?.attempt ?? found;
  const run: Run = found === undefined ? held.run : { ...held.run, attempts: [...held.run.attempts, found] };
  const fail = (why: string) => failHeldRun(parts, { ...held, run }, stopped(why));
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
    hold: held.hold,
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

/** The result of a call that was begun, and its event. Undefined if the call may be repeated. */
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
