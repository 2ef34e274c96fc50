import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { Violations } from "../client/violations.ts";
import { type Thread, type ThreadMessage, ThreadSchema } from "../gen/outrigger/v1/thread_pb.ts";
import type { NewMessage, RunEngine, ThreadInput } from "./engine.ts";
import { type EngineParts, waitForRun } from "./engine-parts.ts";
import { missing, ThreadBusyError } from "./errors.ts";
import { createThreadId } from "./ids.ts";
import { checkMetadata } from "./read-request.ts";
import { newThreadMessage } from "./run-creation.ts";
import type { MessageQuery, Page } from "./store.ts";

type Methods = Pick<
  RunEngine,
  | "createThread"
  | "getThread"
  | "updateThread"
  | "deleteThread"
  | "appendMessages"
  | "listMessages"
  | "getMessage"
  | "findCall"
  | "deleteMessage"
>;

/** The methods of threads. */
export class ThreadMethods implements Methods {
  readonly #parts: Pick<EngineParts, "store" | "live" | "limits">;

  constructor(parts: Pick<EngineParts, "store" | "live" | "limits">) {
    this.#parts = parts;
  }

  async createThread(owner: string, { metadata, messages }: ThreadInput): Promise<Thread> {
    checkLabels(metadata);
    const thread = create(ThreadSchema, {
      id: createThreadId(),
      createdAt: timestampNow(),
      metadata,
      isConversation: true,
    });
    const own = messages.map((message) => newThreadMessage(message));
    await this.#parts.store.createThread(owner, thread, own);
    return thread;
  }

  async getThread(owner: string, threadId: string): Promise<Thread> {
    const thread = await this.#parts.store.getThread(owner, threadId);
    if (thread === undefined) throw missing("thread", threadId);
    return thread;
  }

  async updateThread(
    owner: string,
    threadId: string,
    metadata: Readonly<Record<string, string>>,
  ): Promise<Thread> {
    checkLabels(metadata);
    const thread = { ...(await this.getThread(owner, threadId)), metadata };
    if (!(await this.#parts.store.updateThread(owner, thread))) throw missing("thread", threadId);
    return thread;
  }

  async deleteThread(owner: string, threadId: string): Promise<void> {
    if (!(await this.#parts.store.deleteThread(owner, threadId))) throw missing("thread", threadId);
  }

  async appendMessages(
    owner: string,
    threadId: string,
    messages: readonly NewMessage[],
  ): Promise<readonly ThreadMessage[]> {
    const { store, limits } = this.#parts;
    const own = messages.map((message) => newThreadMessage(message));
    const end = performance.now() + limits.threadWaitMs;
    for (;;) {
      const result = await store.appendMessages(owner, threadId, own);
      if (result === "appended") return own;
      if (result === "missing") throw missing("thread", threadId);
      await this.#waitForThread(owner, threadId, end - performance.now());
    }
  }

  async listMessages(owner: string, query: MessageQuery): Promise<Page<ThreadMessage>> {
    const { threadId, inputOfRunId } = query;
    if (threadId !== undefined) await this.getThread(owner, threadId);
    if (inputOfRunId !== undefined && (await this.#parts.store.getRun(owner, inputOfRunId)) === undefined)
      throw missing("run", inputOfRunId);
    return this.#parts.store.listMessages(owner, query);
  }

  async getMessage(owner: string, messageId: string): Promise<ThreadMessage> {
    const message = await this.#parts.store.getMessage(owner, messageId);
    if (message === undefined) throw missing("message", messageId);
    return message;
  }

  findCall(owner: string, toolCallId: string): Promise<ThreadMessage | undefined> {
    return this.#parts.store.findCall(owner, toolCallId);
  }

  async deleteMessage(owner: string, threadId: string, messageId: string): Promise<void> {
    await this.getThread(owner, threadId);
    if (!(await this.#parts.store.deleteMessage(owner, threadId, messageId)))
      throw missing("message", messageId);
  }

  /** Waits for the latest run of a thread. */
  async #waitForThread(owner: string, threadId: string, ms: number): Promise<void> {
    const query = { threadId, statuses: [], after: "", limit: 1 };
    const [active] = (await this.#parts.store.listRuns(owner, query)).elements;
    if (active === undefined) return;
    if (ms <= 0) throw new ThreadBusyError(active.id);
    await waitForRun(this.#parts, { owner, runId: active.id }, ms);
  }
}

function checkLabels(metadata: Readonly<Record<string, string>>): void {
  const violations = new Violations();
  checkMetadata(metadata, violations);
  violations.throwIfAny();
}
