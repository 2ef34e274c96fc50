/** Updates runs after their generations. */
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { toSdkError } from "../core/errors.ts";
import { addUsage } from "../core/usage.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import {
  type GenerateResult,
  type StepResult,
  GenerateResult_StopReason as StopReason,
} from "../gen/outrigger/v1/generation_pb.ts";
import { FinishReason_Reason } from "../gen/outrigger/v1/response_pb.ts";
import { IncompleteReason, type Run, RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import type { Usage } from "../gen/outrigger/v1/usage_pb.ts";
import { openCallsOf } from "../generation/contract/open-calls.ts";
import { type StatusChange, withStatus } from "./status.ts";

/** Whether a call of this tool waits for the caller's approval. */
export type NeedsApproval = (toolName: string) => boolean;

/** The run after a generation that did not fail. */
export function runAfter(run: Run, result: GenerateResult, needsApproval: NeedsApproval): Run {
  const { stopReason, attempts, totalUsage } = result;
  const last = result.steps.at(-1);
  const change: StatusChange = {
    stopReason,
    attempts,
    ...(totalUsage === undefined ? {} : { usage: totalUsage }),
  };
  if (stopReason === StopReason.TOOL_CALLS && last !== undefined) {
    const calls = openCallsOf(last);
    const requiredApprovals = calls.filter(({ name }) => needsApproval(name));
    const requiredResults = calls.filter(({ name }) => !needsApproval(name));
    const waiting = { ...change, requiredResults, requiredApprovals, endedAt: timestampNow() };
    return withStatus(run, RunStatus.REQUIRES_ACTION, waiting);
  }
  const incompleteReason = whyIncomplete(stopReason, last);
  const status =
    incompleteReason === IncompleteReason.UNSPECIFIED ? RunStatus.COMPLETED : RunStatus.INCOMPLETE;
  return withStatus(run, status, { ...change, incompleteReason, endedAt: timestampNow() });
}

/** The run after a failure. One that was cancelled is no failure. What its complete steps cost stays. */
export function runAfterFailure(run: Run, thrown: unknown): Run {
  const error = toSdkError(thrown);
  const { usage } = error;
  const change = { endedAt: timestampNow(), ...(usage === undefined ? {} : { usage }) };
  return error.kind === ErrorKind.ABORT
    ? withStatus(run, RunStatus.CANCELLED, change)
    : withStatus(run, RunStatus.FAILED, { ...change, error: error.toProto() });
}

/** The usage of all steps. Undefined if no provider reported any. */
export function sumUsage(steps: readonly StepResult[]): Usage | undefined {
  const usages = steps.flatMap(({ response }) => response?.usage ?? []);
  return usages.length === 0 ? undefined : usages.reduce(addUsage);
}

/** The state of a run that required action after another run has continued its thread. */
export function runAfterContinuation(run: Run): Run {
  return withStatus(run, RunStatus.COMPLETED, {
    requiredResults: [],
    requiredApprovals: [],
    endedAt: run.endedAt ?? timestampNow(),
  });
}

function whyIncomplete(stopReason: StopReason, last: StepResult | undefined): IncompleteReason {
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
      return hasRefusal(last) ? IncompleteReason.UNSPECIFIED : IncompleteReason.CONTENT_FILTER;
    default:
      return IncompleteReason.UNSPECIFIED;
  }
}

function hasRefusal(step: StepResult | undefined): boolean {
  return step?.response?.message?.content.some(({ refusal }) => refusal) ?? false;
}
