/** Results and approvals for a run that requires action. */
import { checkToolResult } from "../client/validate-messages.ts";
import { quote, Violations } from "../client/violations.ts";
import { toolMessage } from "../core/tools.ts";
import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import { type Message, Role, type ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import { type Run, RunStatus, type ToolApproval } from "../gen/outrigger/v1/run_pb.ts";
import type { SubmitToolResultsRequest } from "../gen/outrigger/v1/run_service_pb.ts";
import { getOpenCalls, withProgress } from "../generation/loop/open-calls.ts";
import { answeredIds, refusedResult } from "./conversation.ts";
import type { EngineParts } from "./engine-parts.ts";
import { missing, RunStateError } from "./errors.ts";
import { createResultOutputs } from "./outputs.ts";
import { checkApprovals } from "./read-request.ts";
import { newThreadMessage } from "./run-creation.ts";
import { createStatusEvent } from "./run-log.ts";
import { withStatus } from "./status.ts";
import type { HeldRun, RunStore, StoredRun } from "./store.ts";

/** Messages that are read from a store at a time. */
const PAGE_MESSAGES = 100;

/** A run that goes on after its caller has acted. */
export interface Submission {
  /** In IN_PROGRESS, held by this process; or QUEUED. */
  readonly held: HeldRun;
  /** Its steps, the last one with what was submitted. Calls of it that have no result were approved. */
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
  const { steps, latestStep } = withResults(await store.readSteps(runId), [...results, ...refused]);
  const run = resumedRun(taken.run, status);
  const messages = [
    ...results.map((result) => newThreadMessage({ message: toolMessage(result), originJson: "" }, { runId })),
    ...createResultOutputs(runId, refused),
  ];
  const events = [createStatusEvent(run.lastSequence, run)];
  if (!(await store.write({ hold: taken.hold, run, events, latestStep, messages })))
    throw await takenByAnother(store, found);
  return { held: { ...taken, run }, steps };
}

/** The messages that are no results of calls of these steps. */
export function withoutResults(messages: readonly Message[], steps: readonly StepResult[]): Message[] {
  const ids = new Set(steps.flatMap(({ toolResults }) => toolResults.map(({ toolCallId }) => toolCallId)));
  return messages.filter(
    (message) => message.role !== Role.TOOL || !answeredIds(message).some((id) => ids.has(id)),
  );
}

/** The input of a run, with the results that were submitted to it. */
export async function readInput(store: RunStore, owner: string, runId: string): Promise<readonly Message[]> {
  const messages: Message[] = [];
  let after = "";
  for (;;) {
    const query = { inputOfRunId: runId, order: "oldest first", after, limit: PAGE_MESSAGES } as const;
    const { elements, hasMore } = await store.listMessages(owner, query);
    messages.push(...elements.flatMap(({ message }) => message ?? []));
    after = elements.at(-1)?.id ?? "";
    if (!hasMore || after === "") return messages;
  }
}

function checkWaiting({ id, status }: Run): void {
  if (status !== RunStatus.REQUIRES_ACTION)
    throw new RunStateError("run_id", id, status, "one that requires action");
}

async function takenByAnother(store: RunStore, { owner, run }: StoredRun): Promise<Error> {
  const now = await store.getRun(owner, run.id);
  if (now === undefined) return missing("run", run.id, "run_id");
  return new RunStateError(
    "run_id",
    run.id,
    now.run.status,
    "one that requires action and is not being continued",
  );
}

function resumedRun(run: Run, status: RunStatus): Run {
  const resumed = withStatus(run, status, {
    requiredResults: [],
    requiredApprovals: [],
    lastSequence: run.lastSequence + 1,
  });
  delete resumed.endedAt;
  return resumed;
}

function checkSubmission({ results, approvals }: SubmitToolResultsRequest, run: Run): void {
  const violations = new Violations();
  checkResults(results, run, violations);
  checkApprovals(
    approvals,
    run.requiredApprovals.map(({ id }) => id),
    violations,
  );
  checkAllApproved(approvals, run, violations);
  violations.throwIfAny();
}

function checkResults(results: readonly ToolResult[], run: Run, violations: Violations): void {
  const open = new Set(run.requiredResults.map(({ id }) => id));
  for (const [index, result] of results.entries()) {
    const field = `results[${index}]`;
    checkToolResult(result, field, "", violations);
    if (!open.delete(result.toolCallId)) {
      const found = `${quote(result.toolCallId)} is not a call of the run that waits for a result`;
      violations.add(`${field}.tool_call_id`, found);
    }
  }
  for (const id of open) violations.add("results", `expected one for the call ${quote(id)}`);
}

function checkAllApproved(approvals: readonly ToolApproval[], run: Run, violations: Violations): void {
  const answered = new Set(approvals.map(({ toolCallId }) => toolCallId));
  for (const { id } of run.requiredApprovals)
    if (!answered.has(id)) violations.add("approvals", `expected one for the call ${quote(id)}`);
}

/** The steps with results of calls of the last one. */
function withResults(steps: readonly StepResult[], results: readonly ToolResult[]) {
  const last = steps.at(-1);
  if (last === undefined || getOpenCalls(last).length === 0) return { steps, latestStep: undefined };
  const latestStep = withProgress(last, { results, repairedCalls: [] });
  return { steps: [...steps.slice(0, -1), latestStep], latestStep };
}
