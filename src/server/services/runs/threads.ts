/** The methods of ThreadService. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { checkPartOfConversation } from "../../../client/validate-messages.ts";
import { Violations } from "../../../client/violations.ts";
import { invalidField } from "../../../core/errors.ts";
import type { Message } from "../../../gen/outrigger/v1/message_pb.ts";
import type { Thread, ThreadMessage } from "../../../gen/outrigger/v1/thread_pb.ts";
import {
  type AppendMessagesRequest,
  type AppendMessagesResponse,
  AppendMessagesResponseSchema,
  type CreateThreadRequest,
  type DeleteMessageRequest,
  type DeleteMessageResponse,
  DeleteMessageResponseSchema,
  type DeleteThreadRequest,
  type DeleteThreadResponse,
  DeleteThreadResponseSchema,
  type GetMessageRequest,
  type GetThreadRequest,
  type ListMessagesRequest,
  type ListMessagesResponse,
  ListMessagesResponseSchema,
  type UpdateThreadRequest,
} from "../../../gen/outrigger/v1/thread_service_pb.ts";
import type { NewMessage } from "../../../runs/engine.ts";
import { answer, type RunParts, requireId, withPageToken } from "./run-call.ts";

/** Maximum number of messages in one request: a page of ListMessages. */
const MAX_MESSAGES = 100;

const DEFAULT_PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 100;

/** Serves CreateThread. */
export function createThread(
  parts: RunParts,
  { metadata, messages }: CreateThreadRequest,
  context: HandlerContext,
): Promise<Thread> {
  return answer(parts, context, ({ engine, owner }) =>
    engine.threads.createThread(owner, { metadata, messages: readMessages(messages) }),
  );
}

/** Serves GetThread. */
export function getThread(
  parts: RunParts,
  { threadId }: GetThreadRequest,
  context: HandlerContext,
): Promise<Thread> {
  return answer(parts, context, ({ engine, owner }) =>
    engine.threads.getThread(owner, requireId("thread_id", threadId)),
  );
}

/** Serves UpdateThread. */
export function updateThread(
  parts: RunParts,
  { threadId, metadata }: UpdateThreadRequest,
  context: HandlerContext,
): Promise<Thread> {
  return answer(parts, context, ({ engine, owner }) =>
    engine.threads.updateThread(owner, requireId("thread_id", threadId), metadata),
  );
}

/** Serves DeleteThread. */
export function deleteThread(
  parts: RunParts,
  { threadId }: DeleteThreadRequest,
  context: HandlerContext,
): Promise<DeleteThreadResponse> {
  return answer(parts, context, async ({ engine, owner }) => {
    await engine.threads.deleteThread(owner, requireId("thread_id", threadId));
    return create(DeleteThreadResponseSchema);
  });
}

/** Serves AppendMessages. */
export function appendMessages(
  parts: RunParts,
  { threadId, messages }: AppendMessagesRequest,
  context: HandlerContext,
): Promise<AppendMessagesResponse> {
  return answer(parts, context, async ({ engine, owner }) => {
    requireId("thread_id", threadId);
    if (messages.length === 0)
      throw invalidField("messages", `is empty, expected 1 to ${MAX_MESSAGES} messages`);
    const added = await engine.threads.appendMessages(owner, threadId, readMessages(messages));
    return create(AppendMessagesResponseSchema, { messages: [...added] });
  });
}

/** Serves ListMessages. */
export function listMessages(
  parts: RunParts,
  { threadId, pageSize, pageToken, newestFirst }: ListMessagesRequest,
  context: HandlerContext,
): Promise<ListMessagesResponse> {
  return answer(parts, context, async (call) => {
    const { engine, owner } = call;
    const query = {
      threadId: requireId("thread_id", threadId),
      after: pageToken,
      limit: readPageSize(pageSize),
      order: newestFirst ? "latest first" : "oldest first",
    } as const;
    const list = () => withPageToken(engine.threads.listMessages(owner, query));
    const { elements, hasMore } = await call.readStored(list);
    const nextPageToken = hasMore ? (elements.at(-1)?.id ?? "") : "";
    return create(ListMessagesResponseSchema, { messages: [...elements], nextPageToken });
  });
}

/** Serves GetMessage. */
export function getMessage(
  parts: RunParts,
  { messageId }: GetMessageRequest,
  context: HandlerContext,
): Promise<ThreadMessage> {
  return answer(parts, context, (call) =>
    call.readStored(() => call.engine.threads.getMessage(call.owner, requireId("message_id", messageId))),
  );
}

/** Serves DeleteMessage. */
export function deleteMessage(
  parts: RunParts,
  { threadId, messageId }: DeleteMessageRequest,
  context: HandlerContext,
): Promise<DeleteMessageResponse> {
  return answer(parts, context, async ({ engine, owner }) => {
    requireId("thread_id", threadId);
    await engine.threads.deleteMessage(owner, threadId, requireId("message_id", messageId));
    return create(DeleteMessageResponseSchema);
  });
}

/** Reads the messages to add. @throws InvalidRequestError with every invalid field. */
function readMessages(messages: readonly Message[]): readonly NewMessage[] {
  if (messages.length > MAX_MESSAGES)
    throw invalidField("messages", `expected at most ${MAX_MESSAGES}, found ${messages.length}`);
  const violations = new Violations();
  checkPartOfConversation(messages, violations);
  violations.throwIfAny();
  return messages.map((message) => ({ message, originJson: "" }));
}

function readPageSize(pageSize: number): number {
  if (pageSize < 0 || pageSize > MAX_PAGE_SIZE)
    throw invalidField("page_size", `expected a number from 1 to ${MAX_PAGE_SIZE}, found ${pageSize}`);
  return pageSize || DEFAULT_PAGE_SIZE;
}
