/** Creates runs and their plans, from their requests or from the store. */
import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { validateOnce } from "../client/validate.ts";
import type { CallOptions } from "../core/adapter.ts";
import { toSdkError } from "../core/errors.ts";
import type { TraceContext } from "../core/trace-context.ts";
import { type Message, Role, type ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import { type Run, RunSchema, RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import { readOptions } from "../generation/contract/options.ts";
import { failedResult } from "../generation/loop/failed-result.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";
import {
  answeredIds,
  type CheckedConversation,
  type ConversationParts,
  composeConversation,
  createModelRequest,
  openCallIds,
  withRunFields,
} from "./conversation.ts";
import type { RunOptions } from "./engine.ts";
import { missing, RunStateError } from "./errors.ts";
import type { EngineParts } from "./executions.ts";
import type { HistoryShare } from "./limits.ts";
import type { RunPlan } from "./live-run.ts";
import { createId, createResultOutputs, newThreadMessage } from "./messages.ts";
import { INPUT_PATH, isResumable, type RunDraft } from "./read-request.ts";
import { readProgress } from "./recovery.ts";
import { createStatusEvent } from "./run-log.ts";
import { waitForTurn } from "./run-reader.ts";
import type { Claim, RunStore, StoredMessage, StoredRun } from "./store.ts";

/** Messages that are read from a store at a time. */
const PAGE_MESSAGES = 100;

/** A run to create, its caller, and the memory for its conversation. */
export interface NewRun {
  readonly draft: RunDraft;
  readonly options: RunOptions;
  readonly share: HistoryShare;
  /** Whether the run begins immediately in this process. Otherwise it is queued. */
  readonly begins: boolean;
}

/** A conversation that a new run continues, with its added messages. */
interface CheckedInput {
  readonly conversation: ConversationParts;
  readonly checked: CheckedConversation;
}

/** A run that was created. */
export interface CreatedRun extends CheckedInput {
  readonly run: Run;
  /** Undefined if the run is not stored, or does not begin in this process. */
  readonly claim?: Claim | undefined;
}

/**
 * Creates a run, in the store if it is to be stored. Waits for its turn if another run of the thread is in progress.
 * @throws InvalidRequestError, NotFoundError; ThreadBusyError, RunStateError.
 */
export async function createRun(parts: EngineParts, newRun: NewRun): Promise<CreatedRun> {
  const { draft, begins, options } = newRun;
  const { signal, deadline = Infinity, owner, trace } = options;
  const end = Math.min(performance.now() + parts.limits.threadWaitMs, deadline);
  const { request, origin } = draft;
  const { previousRunId, threadId } = request;
  for (let waits = 0; ; waits += 1) {
    const run = toRun(draft, begins);
    if (!draft.isStored) return { run, ...checkInput(newRun, []) };
    // Assigned when the store calls `input`.
    let checked!: CheckedInput;
    const input = (history: readonly Message[]) => {
      checked = checkInput(newRun, history);
      return toInputMessages(draft, run.id, checked);
    };
    const events = [createStatusEvent(0, run)];
    const holder = begins ? parts.holder : undefined;
    const store = () => parts.store.createRun({ run, owner, request, origin, trace, events, holder, input });
    const result = await (begins
      ? parts.known.during(run.id, store, (stored) => stored.case === "created")
      : store());
    switch (result.case) {
      case "created":
        return { run: result.run, claim: result.claim, ...checked };
      case "missing":
        throw result.field === "thread_id"
          ? missing("thread", threadId, result.field)
          : missing("run", previousRunId, result.field);
      case "unfinished":
        throw new RunStateError("previous_run_id", previousRunId, result.status, "a run that has ended");
      case "busy":
        await waitForTurn(parts, { owner, runId: result.activeRunId }, end, waits, signal);
    }
  }
}

/**
 * Takes memory for a conversation and checks it, if it is known before approved calls are executed.
 * @throws InvalidRequestError, RateLimitError
 */
function checkInput({ draft, share, begins }: NewRun, history: readonly Message[]): CheckedInput {
  const { request, inputPath, generation } = draft;
  const input: Message[] = [];
  for (const { message } of draft.input) if (message !== undefined) input.push(message);
  const ofThread = request.threadId === "" ? inputPath : "thread_id";
  const field = request.previousRunId === "" ? ofThread : "previous_run_id";
  if (begins) share.take([...history, ...input], field);
  else share.check([...history, ...input], field);
  const parts = { history, input, approvals: request.approvals };
  const found = composeConversation(parts);
  const { approved } = found;
  const placeholders = new Map(approved.map((call) => [call.id, failedResult(call, "not executed yet")]));
  const conversation = approved.length === 0 ? found : composeConversation(parts, placeholders);
  const system = request.options?.system ?? "";
  const modelRequest = createModelRequest(generation.request, system, conversation);
  try {
    validateOnce(modelRequest);
  } catch (thrown) {
    throw withRunFields(toSdkError(thrown), { system, conversation, inputPath });
  }
  return { conversation: parts, checked: { conversation: found, request: modelRequest } };
}

/** Returns the messages that a new run adds to its thread, each result after its call. */
function toInputMessages(
  draft: RunDraft,
  runId: string,
  { conversation, checked }: CheckedInput,
): StoredMessage[] {
  const { added } = checked.conversation;
  const input: StoredMessage[] = [];
  for (const message of draft.input) input.push(newThreadMessage(message, { runId }));
  if (added.length === 0) return input;
  const sent = new Set(openCallIds(conversation.input));
  const isSent = ({ toolCallId }: ToolResult) => sent.has(toolCallId);
  const earlier = added.filter((result) => !isSent(result));
  const later = added.filter(isSent);
  return [...createResultOutputs(runId, earlier), ...input, ...createResultOutputs(runId, later)];
}

function toRun({ request, isStored }: RunDraft, begins: boolean): Run {
  const now = timestampNow();
  const { model = "", provider = "" } = request.options?.request ?? {};
  return create(RunSchema, {
    id: createId("run"),
    threadId: createId("thread"),
    status: begins ? RunStatus.IN_PROGRESS : RunStatus.QUEUED,
    previousRunId: request.previousRunId,
    background: request.background,
    stored: isStored,
    createdAt: now,
    ...(begins && { startedAt: now }),
    model,
    provider,
    metadata: request.metadata,
  });
}

/** Returns the plan of a run that was created. A run in the background calls the models without its caller. */
export function planCreated(
  parts: EngineParts,
  { draft, options, share }: NewRun,
  { run, conversation, checked }: CreatedRun,
): RunPlan {
  const { generation, request, servers, knownTools, inputPath } = draft;
  const { owner, trace, isStreamed = true } = options;
  const { client, deadline } = run.background ? {} : options;
  const isReady = servers.length === 0 && checked.conversation.approved.length === 0;
  return {
    run,
    client: client ?? createOwnerClient(parts, owner, share, trace),
    generation,
    system: request.options?.system ?? "",
    conversation,
    checked: isReady ? checked : undefined,
    inputPath,
    servers,
    knownTools,
    trace,
    isResumable: isResumable({ run, request }),
    isStreamed: run.background || isStreamed,
    deadline,
  };
}

/** Returns the plan of a stored run, based on its progress. */
export async function planStored(
  parts: EngineParts,
  stored: StoredRun,
  share: HistoryShare,
): Promise<RunPlan> {
  const { store, limits } = parts;
  const { run, owner, request, trace } = stored;
  const { maxSteps } = limits;
  const settings = { toolRounds: maxSteps, mayHaveNoMessages: true };
  const generation = await readOptions(request.options, "options", { maxSteps }, settings);
  const history = await store.readHistory(run.id);
  const messages = await readInput(store, owner, run.id);
  const earlier = run.startedAt === undefined ? undefined : await readProgress(store, stored);
  // Results that were submitted are in the steps.
  const results = earlier?.steps.flatMap(({ toolResults }) => toolResults) ?? [];
  const submitted = new Set(results.map(({ toolCallId }) => toolCallId));
  const input = messages.filter(
    (message) => message.role !== Role.TOOL || !answeredIds(message).some((id) => submitted.has(id)),
  );
  return {
    run,
    client: createOwnerClient(parts, owner, share, trace),
    generation,
    system: request.options?.system ?? "",
    conversation: { history, input, approvals: request.approvals },
    inputPath: INPUT_PATH,
    earlier,
    servers: request.mcpServers,
    knownTools: run.mcpTools,
    trace,
    isStreamed: true,
    isResumable: isResumable(stored),
  };
}

/** Returns the input of a run, with the results that were submitted to it. */
async function readInput(store: RunStore, owner: string, runId: string): Promise<Message[]> {
  const messages: Message[] = [];
  for (let after = "", hasMore = true; hasMore; ) {
    const query = { inputRunId: runId, order: "oldest first", after, limit: PAGE_MESSAGES } as const;
    const page = await store.listMessages(owner, query);
    messages.push(...page.elements.flatMap(({ message }) => message ?? []));
    after = page.elements.at(-1)?.id ?? "";
    hasMore = page.hasMore && after !== "";
  }
  return messages;
}

/**
 * Returns the client of a background run, which makes its calls on behalf of the owner. The caller is looked up for
 * each call, so that changes to the access keys take effect.
 */
function createOwnerClient(
  { client, callerNamed }: EngineParts,
  owner: string,
  share: HistoryShare,
  trace: TraceContext | undefined,
): ModelClient {
  const memory = share.openAnswers(owner);
  const addOwner = (options: CallOptions = {}) => ({
    ...options,
    caller: callerNamed(owner),
    memory,
    ...(trace && { trace }),
  });
  return {
    complete: (request, options) => client.complete(request, addOwner(options)),
    stream: (request, options) => client.stream(request, addOwner(options)),
    resolveModel: (name) => client.resolveModel?.(name) ?? name,
    supportsToolChoice: (mode, model, provider) => client.supportsToolChoice?.(mode, model, provider) ?? true,
    supportsJsonSchema: (model, provider) => client.supportsJsonSchema?.(model, provider) ?? true,
  };
}
