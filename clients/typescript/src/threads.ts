import { create, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import type { Client as ServiceClient } from "@connectrpc/connect";
import { checkInput } from "../../../src/client/check-input.ts";
import { Violations } from "../../../src/client/violations.ts";
import type { MessageInput } from "../../../src/core/message.ts";
import type { Thread, ThreadMessage } from "../../../src/gen/outrigger/v1/thread_pb.ts";
import {
  AppendMessagesRequestSchema,
  CreateThreadRequestSchema,
  type ThreadService,
  UpdateThreadRequestSchema,
} from "../../../src/gen/outrigger/v1/thread_service_pb.ts";
import { findAnswer, getAnswer, type RunCallOptions } from "./answer.ts";

/** What a new thread begins with. */
export interface ThreadOptions {
  /** The first messages, oldest first, of a conversation that began elsewhere. At most 100. */
  readonly messages?: readonly MessageInput[] | undefined;
  /** Stored with the thread: at most 16. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** In which order messages are listed. */
export interface MessageListOptions {
  /** Whether the newest message comes first. Default false: the oldest. */
  readonly newestFirst?: boolean | undefined;
  /** Messages that are fetched at once, up to 100. Default 20. */
  readonly pageSize?: number | undefined;
}

/** The stored conversations. A run with the id of a thread reads its messages and appends its own. */
export class Threads {
  readonly #service: ServiceClient<typeof ThreadService>;

  constructor(service: ServiceClient<typeof ThreadService>) {
    this.#service = service;
  }

  /** Creates a thread. */
  create({ messages = [], labels = {} }: ThreadOptions = {}, call: RunCallOptions = {}): Promise<Thread> {
    return getAnswer(call, (connect) => {
      const request = toChecked(CreateThreadRequestSchema, {
        messages: [...messages],
        metadata: { ...labels },
      });
      return this.#service.createThread(request, connect);
    });
  }

  /** Returns a thread without its messages; undefined if there is none. */
  get(threadId: string, call: RunCallOptions = {}): Promise<Thread | undefined> {
    return findAnswer(call, (connect) => this.#service.getThread({ threadId }, connect));
  }

  /** Replaces all labels of a thread. */
  update(
    threadId: string,
    labels: Readonly<Record<string, string>>,
    call: RunCallOptions = {},
  ): Promise<Thread> {
    return getAnswer(call, (connect) => {
      const request = toChecked(UpdateThreadRequestSchema, { threadId, metadata: { ...labels } });
      return this.#service.updateThread(request, connect);
    });
  }

  /** Deletes a thread with its messages. Its runs can still be read, and cannot be continued. */
  async delete(threadId: string, call: RunCallOptions = {}): Promise<void> {
    await getAnswer(call, (connect) => this.#service.deleteThread({ threadId }, connect));
  }

  /**
   * Appends from 1 to 100 messages without calling a model, and returns them with their ids. Waits while a run of the
   * thread is in progress.
   */
  async appendMessages(
    threadId: string,
    messages: readonly MessageInput[],
    call: RunCallOptions = {},
  ): Promise<ThreadMessage[]> {
    const answer = await getAnswer(call, (connect) => {
      const request = toChecked(AppendMessagesRequestSchema, { threadId, messages: [...messages] });
      return this.#service.appendMessages(request, connect);
    });
    return answer.messages;
  }

  /** Returns the messages of a thread, oldest first by default. Fetches page after page. */
  async *listMessages(
    threadId: string,
    { newestFirst = false, pageSize = 0 }: MessageListOptions = {},
    call: RunCallOptions = {},
  ): AsyncGenerator<ThreadMessage> {
    let pageToken = "";
    do {
      const request = { threadId, newestFirst, pageSize, pageToken };
      const page = await getAnswer(call, (connect) => this.#service.listMessages(request, connect));
      yield* page.messages;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /** Returns a message; undefined if there is none. */
  getMessage(messageId: string, call: RunCallOptions = {}): Promise<ThreadMessage | undefined> {
    return findAnswer(call, (connect) => this.#service.getMessage({ messageId }, connect));
  }

  /** Deletes a message from a thread. Forks of the thread keep it. */
  async deleteMessage(threadId: string, messageId: string, call: RunCallOptions = {}): Promise<void> {
    await getAnswer(call, (connect) => this.#service.deleteMessage({ threadId, messageId }, connect));
  }
}

/** Returns the message for a plain object. @throws InvalidRequestError with every field of a wrong name or type. */
function toChecked<Desc extends DescMessage>(
  schema: Desc,
  fields: MessageInitShape<Desc>,
): MessageShape<Desc> {
  const violations = new Violations();
  checkInput(schema, fields, "", violations);
  violations.throwIfAny();
  return create(schema, fields);
}
