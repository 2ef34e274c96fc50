import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { validateAhead } from "../client/validate.ts";
import { toSdkError } from "../core/errors.ts";
import type { TraceContext } from "../core/trace-context.ts";
import type { RunOrigin } from "../gen/outrigger/storage/v1/bodies_pb.ts";
import type { Message, ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import { FinalResponse } from "../gen/outrigger/v1/request_pb.ts";
import { type Run, RunSchema, RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import { failedResult } from "../generation/loop/failed-result.ts";
import {
  type CheckedConversation,
  type ConversationParts,
  composeConversation,
  createModelRequest,
  openCallIds,
  withRunFields,
} from "./conversation.ts";
import { createThreadWait, type EngineParts } from "./engine-parts.ts";
import { missing, RunStateError } from "./errors.ts";
import { createResultOutputs, createRunId, createThreadId, newThreadMessage } from "./messages.ts";
import type { RunDraft } from "./read-request.ts";
import { createStatusEvent } from "./run-log.ts";
import type { Holder, RunCreation, RunCreationResult } from "./store.ts";
import type { UnstoredRunOptions } from "./unstored-run.ts";

/** How a run is created. */
export interface CreationOptions {
  readonly owner: string;
  readonly origin: RunOrigin | undefined;
  readonly trace: TraceContext | undefined;
  /** Path of the input messages in the caller's request, for errors. */
  readonly inputPath: string;
  /** Set if the run begins immediately in this process. Otherwise it is queued. */
  readonly holder: Holder | undefined;
  readonly signal: AbortSignal;
  readonly deadline?: number | undefined;
  /**
   * Is told of the conversation that the run continues, and of its input, before anything is written.
   * @param field The field of the request that names them.
   */
  readonly onConversation: (messages: readonly Message[], field: string) => void;
}

/** A run that was created. */
export type CreatedRun = Pick<Extract<RunCreationResult, { case: "created" }>, "run" | "hold"> & {
  readonly conversation: ConversationParts;
  /** Undefined while calls are to be executed first. */
  readonly checked: CheckedConversation | undefined;
};

/** A run that is not stored, ready to be executed. */
export type UnstoredCreation = Pick<UnstoredRunOptions, "run" | "generation" | "toFailure">;

/** Creates a run that is neither stored nor has anything to do before its model is called. @throws InvalidRequestError */
export function createUnstoredRun(
  draft: RunDraft,
  { inputPath, onConversation }: Pick<CreationOptions, "inputPath" | "onConversation">,
): UnstoredCreation {
  const input = draft.input.flatMap(({ message }) => message ?? []);
  onConversation(input, inputPath);
  const { request, toFailure } = checkConversation({ history: [], input, approvals: [] }, draft, inputPath);
  return { run: newRun(draft, true), generation: { ...draft.generation, request }, toFailure };
}

/**
 * Creates a run, in the store if it is to be stored. Waits for its turn if another run of the thread is under way.
 * @throws InvalidRequestError, NotFoundError; ThreadBusyError, RunStateError.
 */
export async function createRun(
  parts: EngineParts,
  draft: RunDraft,
  options: CreationOptions,
): Promise<CreatedRun> {
  const { signal, deadline = Infinity, owner } = options;
  const end = Math.min(performance.now() + parts.limits.threadWaitMs, deadline);
  const waitFor = createThreadWait(parts, owner, end);
  const { previousRunId, threadId } = draft.request;
  for (;;) {
    const { creation, readConversation } = createCreation(draft, options);
    if (!draft.isStored) {
      creation.input([]);
      return { run: creation.run, ...readConversation() };
    }
    const store = () => parts.store.createRun(creation);
    const result = await (options.holder === undefined
      ? store()
      : parts.known.during(creation.run.id, store, (stored) => stored.case === "created"));
    switch (result.case) {
      case "created":
        return { ...result, ...readConversation() };
      case "missing":
        throw result.field === "thread_id"
          ? missing("thread", threadId, result.field)
          : missing("run", previousRunId, result.field);
      case "unfinished":
        throw new RunStateError("previous_run_id", previousRunId, result.status, "a run that has ended");
      case "busy":
        await waitFor(result.activeRunId, signal);
    }
  }
}

/** A new run for the store, and its conversation, which is known after the store has called `input`. */
function createCreation(draft: RunDraft, options: CreationOptions) {
  const { request } = draft;
  const { owner, holder, origin, trace, inputPath, onConversation } = options;
  const input = draft.input.flatMap(({ message }) => message ?? []);
  let conversation: ConversationParts = { history: [], input, approvals: request.approvals };
  let checked: CheckedConversation | undefined;
  const run = newRun(draft, holder !== undefined);
  const creation: RunCreation = {
    run,
    owner,
    request,
    origin,
    trace,
    events: [createStatusEvent(0, run)],
    holder,
    input: (history) => {
      conversation = { ...conversation, history };
      const ofThread = request.threadId === "" ? inputPath : "thread_id";
      onConversation([...history, ...input], request.previousRunId === "" ? ofThread : "previous_run_id");
      checked = checkConversation(conversation, draft, inputPath);
      const { added } = checked;
      const sent = new Set(openCallIds(input));
      const isSent = ({ toolCallId }: ToolResult) => sent.has(toolCallId);
      return [
        ...createResultOutputs(
          run.id,
          added.filter((result) => !isSent(result)),
        ),
        ...draft.input.map((message) => newThreadMessage(message, { runId: run.id })),
        ...createResultOutputs(run.id, added.filter(isSent)),
      ];
    },
  };
  const readConversation = () => ({
    conversation,
    checked: checked?.conversation.approved.length === 0 ? checked : undefined,
  });
  return { creation, readConversation };
}

function newRun({ request, isStored }: RunDraft, begins: boolean): Run {
  const now = timestampNow();
  const { model = "", provider = "" } = request.options?.request ?? {};
  return create(RunSchema, {
    id: createRunId(),
    threadId: createThreadId(),
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

/**
 * Checks the conversation, as far as it is known before approved calls are executed.
 * @throws InvalidRequestError
 */
function checkConversation(
  parts: ConversationParts,
  { generation, request: { options } }: RunDraft,
  inputPath: string,
): CheckedConversation {
  const found = composeConversation(parts);
  const { added, approved } = found;
  const placeholders = new Map(approved.map((call) => [call.id, failedResult(call, "not executed yet")]));
  const conversation = approved.length === 0 ? found : composeConversation(parts, placeholders);
  const system = options?.system ?? "";
  const toFailure = (thrown: unknown) =>
    withRunFields(toSdkError(thrown), { system, conversation, inputPath });
  const request = createModelRequest(generation.request, system, conversation);
  try {
    validateAhead(request);
  } catch (thrown) {
    throw toFailure(thrown);
  }
  // The loop needs the whole answer; the events leave out what the deltas already contain.
  request.finalResponse = FinalResponse.FULL;
  return { conversation: found, added, request, toFailure };
}
