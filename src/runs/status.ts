/** The statuses of a run and their transitions. */

import { timestampNow } from "@bufbuild/protobuf/wkt";
import { InternalError, type SDKError, ServerError, toSdkError } from "../core/errors.ts";
import { addUsages } from "../core/usage.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import {
  type GenerateResult,
  type StepResult,
  GenerateResult_StopReason as StopReason,
} from "../gen/outrigger/v1/generation_pb.ts";
import { type FinishReason, FinishReason_Reason } from "../gen/outrigger/v1/response_pb.ts";
import { IncompleteReason, type Run, RunStatus, RunStatusSchema } from "../gen/outrigger/v1/run_pb.ts";
import type { Usage } from "../gen/outrigger/v1/usage_pb.ts";
import { getOpenCalls } from "../generation/loop/open-calls.ts";

const { QUEUED, IN_PROGRESS, REQUIRES_ACTION, COMPLETED, INCOMPLETE, FAILED, CANCELLED } = RunStatus;

/** Allowed transitions, as documented on `RunStatus`. */
const TRANSITIONS: ReadonlyMap<RunStatus, readonly RunStatus[]> = new Map([
  [QUEUED, [IN_PROGRESS, FAILED, CANCELLED]],
  [IN_PROGRESS, [QUEUED, REQUIRES_ACTION, COMPLETED, INCOMPLETE, FAILED, CANCELLED]],
  [REQUIRES_ACTION, [IN_PROGRESS, QUEUED, COMPLETED, CANCELLED]],
]);

/** Reports whether a run with this status never changes again. */
export function isTerminal(status: RunStatus): boolean {
  return !TRANSITIONS.has(status);
}

/**
 * Reports whether a request to cancel applies to a run with this status. It does not apply to a run that has ended in
 * another way in the meantime, so that its last event stays true.
 */
export function acceptsCancel(status: RunStatus): boolean {
  return !isTerminal(status) || status === CANCELLED;
}

/** Reports whether a run with this status is queued or in progress. */
export function isQueuedOrRunning(status: RunStatus): boolean {
  return status === QUEUED || status === IN_PROGRESS;
}

/** Other fields that a status change sets. */
export type StatusChange = Partial<Omit<Run, "$typeName" | "$unknown" | "id" | "status">>;

/** Returns the run with its next status. @throws InternalError if the transition is not allowed. */
export function withStatus(run: Run, status: RunStatus, change: StatusChange = {}): Run {
  if (TRANSITIONS.get(run.status)?.includes(status) !== true)
    throw new InternalError(`a run that is ${statusName(run.status)} cannot become ${statusName(status)}`);
  return { ...run, ...change, status };
}

/** Returns the name of a status for a text: `IN_PROGRESS`. */
export function statusName(status: RunStatus): string {
  return RunStatusSchema.value[status]?.localName ?? String(status);
}

/**
 * Returns the run after a generation that did not fail.
 * @param needsApproval Whether a call of the tool with this name waits for the caller's approval.
 */
export function runAfter(run: Run, result: GenerateResult, needsApproval: (name: string) => boolean): Run {
  const { stopReason, attempts, totalUsage } = result;
  const last = result.steps.at(-1);
  const usage = totalUsage && { usage: totalUsage };
  const change: StatusChange = { stopReason, attempts, ...usage, endedAt: timestampNow() };
  const failure = getFailure(last);
  if (failure !== undefined) return withStatus(run, FAILED, { ...change, error: failure.toProto() });
  if (stopReason === StopReason.TOOL_CALLS && last !== undefined) {
    const calls = getOpenCalls(last);
    const requiredApprovals = calls.filter(({ name }) => needsApproval(name));
    const requiredResults = calls.filter(({ name }) => !needsApproval(name));
    return withStatus(run, REQUIRES_ACTION, { ...change, requiredResults, requiredApprovals });
  }
  const incompleteReason = getIncompleteReason(stopReason, last);
  const status = incompleteReason === IncompleteReason.UNSPECIFIED ? COMPLETED : INCOMPLETE;
  return withStatus(run, status, { ...change, incompleteReason });
}

/**
 * Returns the run after a failure: CANCELLED after an AbortError, otherwise FAILED. It keeps the usage of its complete
 * steps.
 */
export function runAfterFailure(run: Run, thrown: unknown): Run {
  const error = toSdkError(thrown);
  const { usage } = error;
  const change = { endedAt: timestampNow(), ...(usage && { usage }) };
  return error.kind === ErrorKind.ABORT
    ? withStatus(run, CANCELLED, change)
    : withStatus(run, FAILED, { ...change, error: error.toProto() });
}

/** Returns the usage of all steps. Undefined if no provider reported any. */
export function sumUsage(steps: readonly StepResult[]): Usage | undefined {
  let sum: Usage | undefined;
  for (const { response } of steps)
    sum = sum === undefined ? response?.usage : addUsages(sum, response?.usage);
  return sum;
}

/** Returns the state of a run that required action after another run has continued its thread. */
export function runAfterContinuation(run: Run): Run {
  const endedAt = run.endedAt ?? timestampNow();
  return withStatus(run, COMPLETED, { requiredResults: [], requiredApprovals: [], endedAt });
}

/** Returns the failure of an answer whose finish reason is an error. */
function getFailure(step: StepResult | undefined): SDKError | undefined {
  const { provider = "", finishReason, usage } = step?.response ?? {};
  if (finishReason?.reason !== FinishReason_Reason.ERROR) return undefined;
  const message = `the provider ended the answer with the finish reason ${JSON.stringify(finishReason.raw)}`;
  return new ServerError(message, { provider, outputStarted: true, usage });
}

function getIncompleteReason(stopReason: StopReason, last: StepResult | undefined): IncompleteReason {
  switch (stopReason) {
    case StopReason.MAX_TOOL_ROUNDS:
    case StopReason.MAX_STEPS:
    case StopReason.MAX_TOTAL_TOKENS:
    case StopReason.MAX_COST:
    case StopReason.MAX_TOOL_CALLS:
      return IncompleteReason.LIMIT;
    default:
  }
  switch (last?.response?.finishReason?.reason) {
    case FinishReason_Reason.LENGTH:
      return IncompleteReason.MAX_TOKENS;
    case FinishReason_Reason.CONTENT_FILTER:
      // A refusal in the model's own words is an answer, as in OpenAI's API.
      return last.response.message?.content.some(({ refusal }) => refusal) === true
        ? IncompleteReason.UNSPECIFIED
        : IncompleteReason.CONTENT_FILTER;
    case FinishReason_Reason.OTHER:
      return isUnfinished(last.response.finishReason)
        ? IncompleteReason.PROVIDER_STOPPED
        : IncompleteReason.UNSPECIFIED;
    default:
      return IncompleteReason.UNSPECIFIED;
  }
}

/**
 * Finish reasons without a unified form that mean an unfinished answer: of Gemini ("FinishReason"), of Anthropic ("Stop
 * reasons"), and of OpenAI's Responses ("The response object", `status`, `incomplete_details`). Other servers have
 * other words, for answers that are whole.
 */
const UNFINISHED: ReadonlySet<string> = new Set([
  "OTHER",
  "LANGUAGE",
  "NO_IMAGE",
  "IMAGE_OTHER",
  "FINISH_REASON_UNSPECIFIED",
  "pause_turn",
  "compaction",
  "queued",
  "in_progress",
  "incomplete",
  "steered",
]);

/** Reports whether the provider's word for the finish reason means an unfinished answer. */
export function isUnfinished({ reason, raw }: FinishReason): boolean {
  return reason === FinishReason_Reason.OTHER && UNFINISHED.has(raw);
}
