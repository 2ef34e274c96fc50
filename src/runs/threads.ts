import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { Violations } from "../client/violations.ts";
import { type Thread, ThreadSchema } from "../gen/outrigger/v1/thread_pb.ts";
import type { NewMessage, ThreadInput } from "./engine.ts";
import { found, missing } from "./errors.ts";
import type { RunLimits } from "./limits.ts";
import { createId, newThreadMessage } from "./messages.ts";
import { checkMetadata } from "./read-request.ts";
import { type ReadParts, waitForTurn } from "./run-reader.ts";
import type { MessageQuery, Page, StoredMessage } from "./store.ts";

/** Creates, changes and reads threads. Throws as the engine does. */
export class Threads {
  readonly #parts: ReadParts & { readonly limits: RunLimits };

  constructor(parts: ReadParts & { readonly limits: RunLimits }) {
    this.#parts = parts;
  }

  /** Sets the ids and times. */
  async createThread(owner: string, { metadata, messages }: ThreadInput): Promise<Thread> {
    checkLabels(metadata);
    const thread = create(ThreadSchema, {
      id: createId("thread"),
      createdAt: timestampNow(),
      metadata,
      conversation: true,
    });
    const added = messages.map((message) => newThreadMessage(message));
    // Not `await`, which would hold the messages while the store writes their bodies.
    return this.#parts.store.createThread(owner, thread, added).then(() => thread);
  }

  async getThread(owner: string, threadId: string): Promise<Thread> {
    return found(await this.#parts.store.getThread(owner, threadId), "thread", threadId);
  }

  async updateThread(owner: string, threadId: string, metadata: Thread["metadata"]): Promise<Thread> {
    checkLabels(metadata);
    const thread = { ...(await this.getThread(owner, threadId)), metadata };
    if (!(await this.#parts.store.updateThread(owner, thread))) throw missing("thread", threadId);
    return thread;
  }

  async deleteThread(owner: string, threadId: string): Promise<void> {
    if (!(await this.#parts.store.deleteThread(owner, threadId))) throw missing("thread", threadId);
  }

  /** Waits until no run of the thread is in progress. */
  async appendMessages(
    owner: string,
    threadId: string,
    messages: readonly NewMessage[],
  ): Promise<readonly StoredMessage[]> {
    const { store, limits } = this.#parts;
    const added = messages.map((message) => newThreadMessage(message));
    const end = performance.now() + limits.threadWaitMs;
    for (let waits = 0; ; waits += 1) {
      const result = await store.appendMessages(owner, threadId, added);
      if (result.case === "appended") return added;
      if (result.case === "missing") throw missing("thread", threadId);
      await waitForTurn(this.#parts, { owner, runId: result.activeRunId }, end, waits);
    }
  }

  async listMessages(owner: string, query: MessageQuery): Promise<Page<StoredMessage>> {
    const { threadId, inputRunId } = query;
    if (threadId !== undefined) await this.getThread(owner, threadId);
    if (inputRunId !== undefined) found(await this.#parts.store.getRun(owner, inputRunId), "run", inputRunId);
    return this.#parts.store.listMessages(owner, query);
  }

  /** @param threadId If given, finds only a message of this thread. */
  async getMessage(owner: string, messageId: string, threadId?: string): Promise<StoredMessage> {
    return found(await this.#parts.store.getMessage(owner, messageId, threadId), "message", messageId);
  }

  /** Returns the latest message whose first tool call has this id. Undefined if no message of the owner has. */
  findCall(owner: string, toolCallId: string): Promise<StoredMessage | undefined> {
    return this.#parts.store.findCall(owner, toolCallId);
  }

  async deleteMessage(owner: string, threadId: string, messageId: string): Promise<void> {
    await this.getThread(owner, threadId);
    if (!(await this.#parts.store.deleteMessage(owner, threadId, messageId)))
      throw missing("message", messageId);
  }
}

function checkLabels(metadata: Readonly<Record<string, string>>): void {
  const violations = new Violations();
  checkMetadata(metadata, violations);
  violations.throwIfAny();
}
