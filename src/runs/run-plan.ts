/** What runs execute: made of their requests, or of what the store has. */
import type { CallOptions } from "../core/adapter.ts";
import type { TraceContext } from "../core/trace-context.ts";
import { type Message, Role } from "../gen/outrigger/v1/message_pb.ts";
import { readOptions } from "../generation/contract/options.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";
import { answeredIds } from "./conversation.ts";
import type { RunInput, RunOptions } from "./engine.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { HistoryShare } from "./limits.ts";
import { readProgress } from "./progress.ts";
import type { RunDraft } from "./read-request.ts";
import { isResumable } from "./recovery.ts";
import type { CreatedRun } from "./run-creation.ts";
import type { RunPlan } from "./run-execution.ts";
import type { RunStore, StoredRun } from "./store.ts";

/** Messages that are read from a store at a time. */
const PAGE_MESSAGES = 100;

/** The plan of a run that was created. A run in the background calls the models without its caller. */
export function planCreated(
  parts: EngineParts,
  { generation, request, servers, knownTools }: RunDraft,
  { run, conversation, checked }: CreatedRun,
  input: RunInput,
  { owner, client, deadline, trace, isStreamed = true }: RunOptions,
  share: HistoryShare,
): RunPlan {
  const callerClient = run.background ? undefined : client;
  return {
    run,
    client: callerClient ?? createOwnerClient(parts, owner, share, trace),
    generation,
    system: request.options?.system ?? "",
    conversation,
    checked: servers.length === 0 ? checked : undefined,
    inputPath: getInputPath(input),
    servers,
    knownTools,
    serverTools: parts.serverTools,
    toolGate: parts.gates.tools,
    trace,
    isResumable: isResumable({ run, request }),
    isStreamed: run.background || isStreamed,
    deadline: run.background ? undefined : deadline,
  };
}

/** The plan of a stored run, after what it has done already. */
export async function planStored(
  parts: EngineParts,
  stored: StoredRun,
  share: HistoryShare,
): Promise<RunPlan> {
  const { store, limits, serverTools, gates } = parts;
  const { run, owner, request } = stored;
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
    client: createOwnerClient(parts, owner, share, stored.trace),
    generation,
    system: request.options?.system ?? "",
    conversation: { history, input, approvals: request.approvals },
    inputPath: getInputPath({}),
    earlier,
    servers: request.mcpServers,
    knownTools: run.mcpTools,
    serverTools,
    toolGate: gates.tools,
    trace: stored.trace,
    isStreamed: true,
    isResumable: isResumable(stored),
  };
}

/** The input of a run, with the results that were submitted to it. */
async function readInput(store: RunStore, owner: string, runId: string): Promise<Message[]> {
  const messages: Message[] = [];
  for (let after = "", hasMore = true; hasMore; ) {
    const query = { inputOfRunId: runId, order: "oldest first", after, limit: PAGE_MESSAGES } as const;
    const page = await store.listMessages(owner, query);
    messages.push(...page.elements.flatMap(({ message }) => message ?? []));
    after = page.elements.at(-1)?.id ?? "";
    hasMore = page.hasMore && after !== "";
  }
  return messages;
}

/** Path of the input messages in the caller's request. */
export function getInputPath({ input }: Pick<RunInput, "input">): string {
  return input === undefined ? "options.request.messages" : "input";
}

/**
 * The client for a run that is not executed for a waiting caller: its calls are made on behalf of the owner. The caller is
 * looked up for each call, so that changes to the access keys take effect.
 */
export function createOwnerClient(
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
