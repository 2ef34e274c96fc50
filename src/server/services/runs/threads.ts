import { create } from "@bufbuild/protobuf";
import { checkMessages } from "../../../client/validate-messages.ts";
import { Violations } from "../../../client/violations.ts";
import { invalidField } from "../../../core/errors.ts";
import type { Message } from "../../../gen/outrigger/v1/message_pb.ts";
import {
  AppendMessagesResponseSchema,
  DeleteMessageResponseSchema,
  DeleteThreadResponseSchema,
  ListMessagesResponseSchema,
  type ThreadService,
} from "../../../gen/outrigger/v1/thread_service_pb.ts";
import type { NewMessage } from "../../../runs/engine.ts";
import type { Methods } from "../../calls/service-methods.ts";
import { type RunCall, requireId, withPageToken } from "./run-call.ts";

/** Maximum number of messages in one request: a page of ListMessages. */
const MAX_MESSAGES = 100;

const DEFAULT_PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 100;

/** The methods of ThreadService. */
export const threadMethods: Methods<typeof ThreadService, RunCall> = {
  createThread: ({ engine, owner }, { metadata, messages }) =>
    engine.threads.createThread(owner, { metadata, messages: readMessages(messages) }),

  getThread: ({ engine, owner }, { threadId }) =>
    engine.threads.getThread(owner, requireId("thread_id", threadId)),

  updateThread: ({ engine, owner }, { threadId, metadata }) =>
    engine.threads.updateThread(owner, requireId("thread_id", threadId), metadata),

  async deleteThread({ engine, owner }, { threadId }) {
    await engine.threads.deleteThread(owner, requireId("thread_id", threadId));
    return create(DeleteThreadResponseSchema);
  },

  async appendMessages({ engine, owner }, { threadId, messages }) {
    requireId("thread_id", threadId);
    if (messages.length === 0)
      throw invalidField("messages", `is empty, expected 1 to ${MAX_MESSAGES} messages`);
    const added = await engine.threads.appendMessages(owner, threadId, readMessages(messages));
    return create(AppendMessagesResponseSchema, { messages: [...added] });
  },

  async listMessages(call, { threadId, pageSize, pageToken, newestFirst }) {
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
  },

  getMessage: (call, { messageId }) =>
    call.readStored(() => call.engine.threads.getMessage(call.owner, requireId("message_id", messageId))),

  async deleteMessage({ engine, owner }, { threadId, messageId }) {
    requireId("thread_id", threadId);
    await engine.threads.deleteMessage(owner, threadId, requireId("message_id", messageId));
    return create(DeleteMessageResponseSchema);
  },
};

/** Reads the messages to add. @throws InvalidRequestError with every invalid field. */
function readMessages(messages: readonly Message[]): readonly NewMessage[] {
  if (messages.length > MAX_MESSAGES)
    throw invalidField("messages", `expected at most ${MAX_MESSAGES}, found ${messages.length}`);
  const violations = new Violations();
  checkMessages(messages, { open: true, continues: true }, violations);
  violations.throwIfAny();
  return messages.map((message) => ({ message, originJson: "" }));
}

function readPageSize(pageSize: number): number {
  if (pageSize < 0 || pageSize > MAX_PAGE_SIZE)
    throw invalidField("page_size", `expected a number from 1 to ${MAX_PAGE_SIZE}, found ${pageSize}`);
  return pageSize || DEFAULT_PAGE_SIZE;
}
