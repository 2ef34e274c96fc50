/** Results and approvals for a run that requires action. */
import { checkToolResult } from "../client/validate-messages.ts";
import { quote, Violations } from "../client/violations.ts";
import { toolMessage } from "../core/tools.ts";
import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import { type Run, RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import type { SubmitToolResultsRequest } from "../gen/outrigger/v1/run_service_pb.ts";
import { getOpenCalls, withProgress } from "../generation/loop/open-calls.ts";
import { refusedResult } from "./conversation.ts";
import type { EngineParts } from "./engine-parts.ts";
import { missing, RunStateError } from "./errors.ts";
import { createResultOutputs, newThreadMessage } from "./messages.ts";
import { checkApprovals } from "./read-request.ts";
import { createStatusEvent } from "./run-log.ts";
import { withStatus } from "./status.ts";
import type { HeldRun, RunStore, StoredRun } from "./store.ts";

/** A run that goes on after its caller has acted. */
export interface Submission {
  /** In IN_PROGRESS, held by this process; or QUEUED. */
  readonly held: HeldRun;
  /** Its steps with the submitted results. Calls of the last step without a result were approved. */
  readonly steps: readonly StepResult[];
}

/**
 * Takes the run and writes what its caller submits.
 * @param status Of the run from then on: QUEUED, or IN_PROGRESS to execute it in this process.
 * @throws InvalidRequestError if that is not one result or approval for each call that waits; RunStateError.
 */
export async function submitResults(
  { store, holder }: Pick<EngineParts, "store" | "holder">,
  request: SubmitToolResultsRequest,
  found: StoredRun,
  status: RunStatus,
): Promise<Submission> {
  const { results, approvals } = request;
  const runId = found.run.id;
  checkWaiting(found.run);
  checkSubmission(request, found.run);
  const taken = await store.take(runId, holder);
  if (taken === undefined) throw await takenByAnother(store, found);
  checkWaiting(taken.run);
  const refused = approvals.flatMap((approval) => (approval.approve ? [] : [refusedResult(approval)]));
  const steps = [...(await store.readSteps(runId))];
  const last = steps.at(-1);
  let latestStep: StepResult | undefined;
  if (last !== undefined && getOpenCalls(last).length > 0) {
    latestStep = withProgress(last, { results: [...results, ...refused], repairedCalls: [] });
    steps.splice(-1, 1, latestStep);
  }
  const lastSequence = taken.run.lastSequence + 1;
  const run = withStatus(taken.run, status, { requiredResults: [], requiredApprovals: [], lastSequence });
  delete run.endedAt;
  const messages = [
    ...results.map((result) => newThreadMessage({ message: toolMessage(result), originJson: "" }, { runId })),
    ...createResultOutputs(runId, refused),
  ];
  const events = [createStatusEvent(lastSequence, run)];
  if (!(await store.write({ hold: taken.hold, run, events, latestStep, messages })))
    throw await takenByAnother(store, found);
  return { held: { ...taken, run }, steps };
}

function checkWaiting({ id, status }: Run): void {
  if (status !== RunStatus.REQUIRES_ACTION)
    throw new RunStateError("run_id", id, status, "one that requires action");
}

async function takenByAnother(store: RunStore, { owner, run }: StoredRun): Promise<Error> {
  const now = await store.getRun(owner, run.id);
  if (now === undefined) return missing("run", run.id, "run_id");
  const expected = "one that requires action and is not being continued";
  return new RunStateError("run_id", run.id, now.run.status, expected);
}

function checkSubmission(
  { results, approvals }: SubmitToolResultsRequest,
  { requiredResults, requiredApprovals }: Run,
): void {
  const violations = new Violations();
  const open = new Set(requiredResults.map(({ id }) => id));
  for (const [index, result] of results.entries()) {
    const field = `results[${index}]`;
    checkToolResult(result, field, "", violations);
    if (!open.delete(result.toolCallId)) {
      const found = `${quote(result.toolCallId)} is not a call of the run that waits for a result`;
      violations.add(`${field}.tool_call_id`, found);
    }
  }
  for (const id of open) violations.add("results", `expected one for the call ${quote(id)}`);
  const waiting = requiredApprovals.map(({ id }) => id);
  checkApprovals(approvals, waiting, violations);
  const answered = new Set(approvals.map(({ toolCallId }) => toolCallId));
  for (const id of waiting)
    if (!answered.has(id)) violations.add("approvals", `expected one for the call ${quote(id)}`);
  violations.throwIfAny();
}
