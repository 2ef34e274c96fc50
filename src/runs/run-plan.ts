/** What runs execute: made of their requests, or of what the store has. */
import type { CallOptions } from "../core/adapter.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";
import type { RunInput, RunOptions } from "./engine.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { HistoryShare } from "./history-memory.ts";
import { readProgress } from "./progress.ts";
import { type RunDraft, readStoredRequest } from "./read-request.ts";
import { isResumable } from "./recovery.ts";
import type { CreatedRun } from "./run-creation.ts";
import type { RunPlan } from "./run-execution.ts";
import type { StoredRun } from "./store.ts";
import { readInput, withoutResults } from "./submission.ts";

/** The plan of a run that was created. A run in the background calls the models without its caller. */
export function planCreated(
  parts: EngineParts,
  { generation, request, servers, knownTools }: RunDraft,
  { run, conversation }: CreatedRun,
  input: RunInput,
  { owner, client, deadline }: RunOptions,
  share: HistoryShare,
): RunPlan {
  const inForeground = { client: client ?? ownerClient(parts, owner, share), deadline };
  return {
    run,
    generation,
    system: request.options?.system ?? "",
    conversation,
    inputPath: getInputPath(input),
    servers,
    knownTools,
    serverTools: parts.serverTools,
    toolGate: parts.gates.tools,
    isResumable: isResumable({ run, request }),
    ...(run.background ? { client: ownerClient(parts, owner, share) } : inForeground),
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
  const generation = await readStoredRequest(request, limits.maxSteps);
  const history = await store.readHistory(run.id);
  const input = await readInput(store, owner, run.id);
  const earlier = run.startedAt === undefined ? undefined : await readProgress(store, stored);
  return {
    run,
    client: ownerClient(parts, owner, share),
    generation,
    system: request.options?.system ?? "",
    conversation: {
      history,
      input: withoutResults(input, earlier?.steps ?? []),
      approvals: request.approvals,
    },
    inputPath: getInputPath({}),
    earlier,
    servers: request.mcpServers,
    knownTools: run.mcpTools,
    serverTools,
    toolGate: gates.tools,
    isResumable: isResumable(stored),
  };
}

/** Path of the input messages in the caller's request. */
export function getInputPath({ input }: Pick<RunInput, "input">): string {
  return input === undefined ? "options.request.messages" : "input";
}

/**
 * The client for a run that is not executed for a waiting caller: its calls are made on behalf of the owner. The caller is
 * looked up for each call, so that changes to the access keys take effect.
 */
function ownerClient({ client, callerNamed }: EngineParts, owner: string, share: HistoryShare): ModelClient {
  const memory = share.openAnswers(owner);
  const addOwner = (options: CallOptions = {}) => ({ ...options, caller: callerNamed(owner), memory });
  return {
    complete: (request, options) => client.complete(request, addOwner(options)),
    stream: (request, options) => client.stream(request, addOwner(options)),
    resolveModel: (name) => client.resolveModel?.(name) ?? name,
    supportsToolChoice: (mode, model, provider) => client.supportsToolChoice?.(mode, model, provider) ?? true,
    supportsJsonSchema: (model, provider) => client.supportsJsonSchema?.(model, provider) ?? true,
  };
}
