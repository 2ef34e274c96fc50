/** Runs that a process holds and does not execute: they end here, or go back into the queue. */
import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { AbortError, ServerError, toSdkError } from "../core/errors.ts";
import { type Attempt, AttemptSchema } from "../gen/outrigger/v1/attempt_pb.ts";
import type { ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import {
  type McpTool,
  StepRestart_Reason as Reason,
  type Run,
  RunStatus,
  StepRestartSchema,
} from "../gen/outrigger/v1/run_pb.ts";
import { failedResult } from "../generation/loop/failed-result.ts";
import { getOpenCalls, withProgress } from "../generation/loop/open-calls.ts";
import type { RunObserver } from "./engine.ts";
import { isOutage, StoreFullError } from "./errors.ts";
import { isAbandoned } from "./ids.ts";
import { createResultOutputs } from "./outputs.ts";
import { type BegunCall, type RunProgress, readProgress } from "./progress.ts";
import { hasSecrets } from "./read-request.ts";
import { createRunEvent, createStatusEvent, type RunEventValue } from "./run-log.ts";
import { toolFinishEvent } from "./server-tool-executor.ts";
import { mayRepeat } from "./server-tools.ts";
import { type StatusChange, withStatus } from "./status.ts";
import type { HeldRun, RunStore, RunWrite } from "./store.ts";

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

/** Why a run is not executed any more, and what is known of the model call that was under way. */
export interface Interruption {
  readonly reason: Reason;
  /** Undefined: the store shows whether a call was under way. */
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
  if (!isResumable(held)) return failHeldRun(parts, held, secretsLost());
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
  const ended = withStatus(run, status, {
    ...fields,
    lastSequence,
    requiredResults: [],
    requiredApprovals: [],
    endedAt: timestampNow(),
  });
  const events = [createStatusEvent(lastSequence, ended)];
  if (await store.write({ hold, run: ended, events })) observer.runEnded?.(ended);
}

function stopped(what: string): ServerError {
  return new ServerError(`${what} before the run was over`, { retryable: true });
}

/** The error of a run that only its process could have continued. */
function secretsLost(): ServerError {
  return new ServerError(
    "the sidecar that executed the run stopped, and no other one has the credentials of the run's MCP servers, " +
      "which are not stored",
    { retryable: true },
  );
}

/**
 * Puts a run back into the queue, to be continued after its latest complete step by any process. It fails if its model
 * call was made twice already, or too many processes were lost in this step.
 */
export async function requeueRun(
  parts: RecoveryParts,
  held: HeldRun,
  interruption: Interruption,
): Promise<void> {
  const progress = await readProgress(parts.store, held);
  const restart = new Restart(held, progress, interruption);
  const reason = restart.reasonAgainst;
  if (reason === undefined) await parts.store.write(restart.write);
  else await failHeldRun(parts, restart.heldWithAttempt, reason);
}

class Restart {
  readonly #held: HeldRun;
  readonly #progress: RunProgress;
  readonly #interruption: Interruption;
  /** Whether the model has answered already, and only the tools of the latest step are continued. */
  readonly #continuesAnswer: boolean;

  constructor(held: HeldRun, progress: RunProgress, interruption: Interruption) {
    const last = progress.steps.at(-1);
    const isWaiting = progress.isSubmitted && last !== undefined && getOpenCalls(last).length > 0;
    this.#held = held;
    this.#progress = progress;
    this.#interruption = interruption;
    this.#continuesAnswer = last !== undefined && (!progress.isFinished || isWaiting);
  }

  get reasonAgainst(): ServerError | undefined {
    if (this.#interruption.reason === Reason.LOST && this.#progress.losses >= MAX_LOSSES)
      return stopped(`the sidecars that executed step ${this.#step} stopped ${MAX_LOSSES + 1} times`);
    const calls = this.heldWithAttempt.run.attempts.filter((attempt) => isAbandoned(attempt, this.#step));
    if (this.#attempt === undefined || calls.length < 2) return undefined;
    return stopped(`the model was called twice for step ${this.#step}, and both times the sidecar stopped`);
  }

  get heldWithAttempt(): HeldRun {
    const { run } = this.#held;
    const attempt = this.#interruption.abandoned === undefined ? this.#attempt : undefined;
    return attempt === undefined
      ? this.#held
      : { ...this.#held, run: { ...run, attempts: [...run.attempts, attempt] } };
  }

  get write(): RunWrite {
    const { run, hold } = this.#held;
    const { steps } = this.#progress;
    const interrupted = this.#progress.begun.filter((call) => !this.#mayRepeat(call));
    const results = interrupted.flatMap(({ start }) => start.call ?? []).map(toInterruptedResult);
    const values = [...interrupted.flatMap((call) => this.#toFinish(call)), this.#toRestart(results)];
    const first = run.lastSequence + 1;
    const lastSequence = first + values.length;
    const queued = withStatus(this.heldWithAttempt.run, RunStatus.QUEUED, { lastSequence });
    const last = steps.at(-1);
    return {
      hold,
      run: queued,
      events: [
        ...values.map(({ step, value }, index) => createRunEvent(first + index, step, value)),
        createStatusEvent(lastSequence, queued),
      ],
      latestStep:
        this.#continuesAnswer && last !== undefined && results.length > 0
          ? withProgress(last, { results, repairedCalls: [] })
          : undefined,
      messages: createResultOutputs(run.id, results),
    };
  }

  get #step(): number {
    return this.#progress.steps.length + (this.#continuesAnswer ? 0 : 1);
  }

  get #attempt(): Attempt | undefined {
    const { abandoned } = this.#interruption;
    if (abandoned !== undefined) return abandoned.attempt;
    if (this.#continuesAnswer || !this.#progress.mayHaveCalled) return undefined;
    return toAbandonedAttempt(this.#held.run, this.#step, this.#progress);
  }

  #findTool({ start }: BegunCall): McpTool | undefined {
    const { serverLabel, toolName } = start;
    const tools = this.#held.run.mcpTools;
    return tools.find((tool) => tool.serverLabel === serverLabel && tool.toolName === toolName);
  }

  #mayRepeat(call: BegunCall): boolean {
    const tool = this.#findTool(call);
    return tool !== undefined && mayRepeat(tool);
  }

  #toFinish(call: BegunCall): { readonly step: number; readonly value: RunEventValue }[] {
    const { step, start } = call;
    if (start.call === undefined) return [];
    return [{ step, value: toolFinishEvent(toInterruptedResult(start.call), this.#findTool(call)) }];
  }

  #toRestart(interrupted: readonly ToolResult[]): { readonly step: number; readonly value: RunEventValue } {
    const attempt = this.#attempt;
    const value = create(StepRestartSchema, {
      reason: this.#interruption.reason,
      continuesAnswer: this.#continuesAnswer,
      interruptedToolCallIds: interrupted.map(({ toolCallId }) => toolCallId),
      ...(attempt === undefined ? {} : { abandonedAttempt: attempt }),
    });
    return { step: this.#step, value: { case: "stepRestart", value } };
  }
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

function toInterruptedResult(call: { readonly id: string }): ToolResult {
  return failedResult(call, INTERRUPTED);
}
