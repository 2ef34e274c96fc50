import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { validateRequest } from "../client/validate.ts";
import { SDKError } from "../core/errors.ts";
import { systemMessage } from "../core/message.ts";
import { toolMessage } from "../core/tools.ts";
import type { RunOrigin } from "../gen/outrigger/storage/v1/bodies_pb.ts";
import type { Message, ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import { type Run, RunSchema, RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import { ThreadMessageSchema } from "../gen/outrigger/v1/thread_pb.ts";
import { failedResult } from "../generation/loop/failed-result.ts";
import {
  type ConversationParts,
  composeConversation,
  openCallIds,
  type RunFields,
  withRunFields,
} from "./conversation.ts";
import type { NewMessage } from "./engine.ts";
import { createThreadWait, type EngineParts } from "./engine-parts.ts";
import { missing, RunStateError } from "./errors.ts";
import { createMessageId, createRunId, createThreadId } from "./ids.ts";
import { runAfterContinuation } from "./outcome.ts";
import type { RunDraft } from "./read-request.ts";
import { createStatusEvent } from "./run-log.ts";
import type { Hold, Holder, RunCreation, RunCreationResult, StoredMessage } from "./store.ts";

/** How a run is created. */
export interface CreationOptions {
  readonly owner: string;
  readonly origin: RunOrigin | undefined;
  /** Path of the input messages in the caller's request, for errors. */
  readonly inputPath: string;
  /** Set if the run begins immediately in this process. Otherwise it is queued. */
  readonly holder: Holder | undefined;
  readonly signal: AbortSignal;
  readonly deadline: number | undefined;
  /**
   * Is told of the conversation that the run continues, and of its input, before anything is written.
   * @param field The field of the request that names them.
   */
  readonly onConversation: (messages: readonly Message[], field: string) => void;
}

/** A run that was created. */
export interface CreatedRun {
  readonly run: Run;
  readonly conversation: ConversationParts;
  /** Set if the run begins immediately and is stored. */
  readonly hold?: Hold | undefined;
}

/**
 * Creates a run in the store. Waits for its turn if another run of the thread is under way.
 * @throws InvalidRequestError, NotFoundError; ThreadBusyError, RunStateError.
 */
export async function createInStore(
  parts: EngineParts,
  draft: RunDraft,
  options: CreationOptions,
): Promise<CreatedRun> {
  const { owner, signal, deadline = Infinity } = options;
  const end = Math.min(performance.now() + parts.limits.threadWaitMs, deadline);
  const waitFor = createThreadWait(parts, owner, end);
  const { previousRunId, threadId } = draft.request;
  for (;;) {
    const creation = new Creation(draft, options);
    const result = await storeRun(parts, creation.fields);
    switch (result.case) {
      case "created":
        return { ...result, conversation: creation.conversation };
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

/** Creates a run that is not stored. @throws InvalidRequestError */
export function createUnstored(draft: RunDraft, options: CreationOptions): CreatedRun {
  const { fields, conversation } = new Creation(draft, options);
  fields.input([]);
  return { run: fields.run, conversation };
}

/** The run is known before it is in the store, so that it is not taken for an abandoned one. */
async function storeRun({ store, known }: EngineParts, creation: RunCreation): Promise<RunCreationResult> {
  const { id } = creation.run;
  if (creation.holder === undefined) return store.createRun(creation);
  await known.add(id);
  try {
    const result = await store.createRun(creation);
    if (result.case !== "created") known.delete(id);
    return result;
  } catch (thrown) {
    // If only the answer was lost, the run is recovered.
    known.delete(id);
    throw thrown;
  }
}

class Creation {
  readonly fields: RunCreation;
  readonly #draft: RunDraft;
  readonly #options: CreationOptions;
  #history: readonly Message[] = [];

  constructor(draft: RunDraft, options: CreationOptions) {
    const { owner, holder, origin } = options;
    this.#draft = draft;
    this.#options = options;
    const run = newRun(draft, options);
    this.fields = {
      run,
      owner,
      request: draft.request,
      origin,
      events: [createStatusEvent(0, run)],
      holder,
      input: (history) => this.#inputAfter(run.id, history),
      concludePrevious: (previous) => {
        const next = { ...runAfterContinuation(previous), lastSequence: previous.lastSequence + 1 };
        return { run: next, events: [createStatusEvent(next.lastSequence, next)] };
      },
    };
  }

  /** The conversation to send to the model. Available after the store has requested the input. */
  get conversation(): ConversationParts {
    const { input, request } = this.#draft;
    return {
      history: this.#history,
      input: input.flatMap(({ message }) => message ?? []),
      approvals: request.approvals,
    };
  }

  /** What the request names as its conversation. */
  get #conversationField(): string {
    const { previousRunId, threadId } = this.#draft.request;
    if (previousRunId !== "") return "previous_run_id";
    return threadId === "" ? this.#options.inputPath : "thread_id";
  }

  /** The messages to add. @throws InvalidRequestError if they do not fit the history. */
  #inputAfter(runId: string, history: readonly Message[]): readonly StoredMessage[] {
    this.#history = history;
    this.#options.onConversation([...history, ...this.conversation.input], this.#conversationField);
    const { added } = checkConversation(this.conversation, this.#draft, this.#options.inputPath);
    const sent = new Set(openCallIds(this.conversation.input));
    const isSent = ({ toolCallId }: ToolResult) => sent.has(toolCallId);
    const toOutput = (result: ToolResult) =>
      newThreadMessage({ message: toolMessage(result), originJson: "" }, { runId, output: true });
    return [
      ...added.filter((result) => !isSent(result)).map(toOutput),
      ...this.#draft.input.map((message) => newThreadMessage(message, { runId })),
      ...added.filter(isSent).map(toOutput),
    ];
  }
}

/** Checks the conversation, as far as it is known before approved calls are executed. */
function checkConversation(parts: ConversationParts, draft: RunDraft, inputPath: string) {
  const { generation, request } = draft;
  const conversation = composeConversation(parts);
  const placeholders = new Map(
    conversation.approved.map((call) => [call.id, failedResult(call, "not executed yet")]),
  );
  const whole = placeholders.size === 0 ? conversation : composeConversation(parts, placeholders);
  const system = request.options?.system ?? "";
  const before = system === "" ? [] : [systemMessage(system)];
  const messages = [...before, ...whole.messages.map(({ message }) => message)];
  try {
    validateRequest({ ...generation.request, messages }, { mayNameNoModel: true });
  } catch (thrown) {
    const fields: RunFields = { before: before.length, conversation: whole, inputPath };
    throw thrown instanceof SDKError ? withRunFields(thrown, fields) : thrown;
  }
  return conversation;
}

function newRun({ request, isStored }: RunDraft, { holder }: CreationOptions): Run {
  const now = timestampNow();
  const { model = "", provider = "" } = request.options?.request ?? {};
  return create(RunSchema, {
    id: createRunId(),
    threadId: createThreadId(),
    status: holder === undefined ? RunStatus.QUEUED : RunStatus.IN_PROGRESS,
    previousRunId: request.previousRunId,
    background: request.background,
    stored: isStored,
    createdAt: now,
    ...(holder === undefined ? {} : { startedAt: now }),
    model,
    provider,
    metadata: request.metadata,
  });
}

/** A message for a thread. */
export function newThreadMessage(
  { message, originJson }: NewMessage,
  { runId = "", output = false }: { readonly runId?: string; readonly output?: boolean } = {},
): StoredMessage {
  const id = createMessageId();
  const content = message === undefined ? {} : { message };
  const kept = create(ThreadMessageSchema, { id, runId, output, createdAt: timestampNow(), ...content });
  return { ...kept, originJson };
}
