import type { StepResult } from "../../../gen/outrigger/v1/generation_pb.ts";
import type { Message } from "../../../gen/outrigger/v1/message_pb.ts";
import { type Run, type RunEvent, RunStatus } from "../../../gen/outrigger/v1/run_pb.ts";
import type { Thread, ThreadMessage } from "../../../gen/outrigger/v1/thread_pb.ts";
import { isUnderWay } from "../../status.ts";
import type {
  Lease,
  MessageQuery,
  Page,
  RunCreation,
  RunCreationResult,
  RunNotice,
  RunQuery,
  RunStore,
  RunWrite,
  StoredRun,
} from "../../store.ts";
import { BodyCodec, type BodyCodecOptions } from "../body-codec.ts";
import { createRun } from "./create-run.ts";
import { SqliteDatabase, type SqliteLocation } from "./database.ts";
import { countQueued, findAbandoned, findQueued, isQueued, noteCancel, readEvents } from "./events.ts";
import { isFullFailure } from "./failures.ts";
import { checkKeys } from "./keys.ts";
import { Leases } from "./leases.ts";
import { addMessages, deleteMessage, findCall, findMessage, listMessages, readHistory } from "./messages.ts";
import { Notices } from "./notices.ts";
import { Queue } from "./queue.ts";
import { deleteOldConversations, deleteRun, findOldRuns } from "./removal.ts";
import {
  findOwnedRun,
  findRun,
  insertEvents,
  lastOf,
  type RunRow,
  storedRunOf,
  type Tables,
} from "./run-rows.ts";
import { listRuns } from "./runs.ts";
import {
  deleteThread,
  findLatestRun,
  findOwnedThread,
  findThread,
  insertThread,
  readThread,
  updateThread,
} from "./threads.ts";
import { hasOnlyEvents, readSteps, writeRun } from "./write-run.ts";

/** Options of a SqliteStore. */
export interface SqliteStoreOptions extends BodyCodecOptions {
  readonly location: SqliteLocation;
}

/** Runs that are removed at a time to make room in memory. */
const EVICTED_RUNS = 16;

/** Age before which everything is. */
const ANY_TIME_MS = Number.MAX_SAFE_INTEGER;

/**
 * Keeps runs in a SQLite database: a file of this process alone, or memory. All calls are synchronous underneath, a few
 * tens of microseconds each. In memory, the oldest runs that are over make room for new ones.
 */
export class SqliteStore implements RunStore {
  readonly isShared = false;
  readonly #tables: Tables;
  readonly #isInMemory: boolean;
  readonly #leases = new Leases();
  readonly #notices = new Notices();
  readonly #queue: Queue;

  /** @param database Of the location. Closed with the store. */
  constructor(database: SqliteDatabase, { location, ...options }: SqliteStoreOptions) {
    this.#tables = { database, codec: new BodyCodec(options) };
    this.#isInMemory = location.kind === "memory";
    const isHeld = (runId: string) => this.#leases.isHeld(runId);
    this.#queue = new Queue({
      nextQueued: (exclude) => findQueued(database, (runId) => exclude.has(runId) || isHeld(runId)),
      isQueued: (runId) => isQueued(database, runId) && !isHeld(runId),
    });
    checkKeys(this.#tables, options.keys ?? []);
  }

  /**
   * Opens the store. Runs that an earlier process left IN_PROGRESS are abandoned at once, and those that it left QUEUED
   * are delivered again.
   * @throws ConfigurationError where that cannot be done, naming the file.
   */
  static open(options: SqliteStoreOptions): SqliteStore {
    const database = SqliteDatabase.open(options.location);
    try {
      return new SqliteStore(database, options);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  async createRun(creation: RunCreation): Promise<RunCreationResult> {
    const created = this.#change(() =>
      createRun(this.#tables, creation, (runId) => this.#leases.isHeld(runId)),
    );
    if (created.case !== "created") return created;
    const { run, forked, number, concluded } = created;
    const { lease } = creation;
    const held = { runId: run.id, number, lastSequence: lastOf(creation.events, -1), cancelRequested: false };
    if (lease !== undefined) this.#leases.hold(held, lease);
    if (concluded !== undefined) this.#notices.notify(concluded.id, "change");
    if (lease === undefined) this.#queue.wake();
    return { case: "created", run, forked };
  }

  async getRun(owner: string, runId: string): Promise<StoredRun | undefined> {
    return this.#read((tables) => {
      const row = findOwnedRun(tables, owner, runId);
      return row && storedRunOf(tables, row);
    });
  }

  async readSteps(runId: string): Promise<readonly StepResult[]> {
    return this.#read((tables) => readSteps(tables, runId));
  }

  async listRuns(owner: string, query: RunQuery): Promise<Page<Run>> {
    return this.#read((tables) => listRuns(tables, owner, query));
  }

  async deleteRun(owner: string, runId: string): Promise<boolean> {
    const isDeleted = this.#change((tables) => {
      const row = findOwnedRun(tables, owner, runId);
      if (row !== undefined) deleteRun(tables, row);
      return row !== undefined;
    });
    if (isDeleted) this.#forget([runId]);
    return isDeleted;
  }

  async write(write: RunWrite): Promise<boolean> {
    const { runId, lease, events = [], run } = write;
    const held = this.#leases.heldBy(runId, lease.holder);
    if (held === undefined) return false;
    const lastSequence = lastOf(events, held.lastSequence);
    if (hasOnlyEvents(write))
      this.#makeRoom(() => this.#read((tables) => insertEvents(tables, held, events)));
    else this.#change((tables) => writeRun(tables, held, write));
    if (run === undefined || run.status === RunStatus.IN_PROGRESS) {
      this.#leases.hold({ ...held, lastSequence }, lease);
    } else {
      this.#leases.release(runId);
    }
    if (events.length > 0) this.#notices.notify(runId, "change");
    if (run?.status === RunStatus.QUEUED) this.#queue.wake();
    return true;
  }

  async readEvents(runId: string, afterSequence: number, maxEvents: number): Promise<readonly RunEvent[]> {
    return this.#read((tables) => readEvents(tables, runId, afterSequence, maxEvents));
  }

  async requestCancel(owner: string, runId: string): Promise<StoredRun | undefined> {
    const stored = this.#change((tables) => {
      const row = findOwnedRun(tables, owner, runId);
      return row && storedRunOf(tables, { ...row, run: noteCancel(tables, row) });
    });
    if (stored?.run.cancelRequested === true) {
      this.#leases.requestCancel(runId);
      this.#notices.notify(runId, "cancel");
    }
    return stored;
  }

  subscribe(runId: string, onNotice: (notice: RunNotice) => void): () => void {
    return this.#notices.subscribe(runId, onNotice);
  }

  async deliverQueued(
    handle: (runId: string) => Promise<void>,
    concurrency: number,
  ): Promise<() => Promise<void>> {
    return this.#queue.deliver(handle, concurrency);
  }

  async countQueued(): Promise<number> {
    return this.#read(({ database }) => countQueued(database));
  }

  async take(runId: string, lease: Lease): Promise<StoredRun | undefined> {
    return this.#read((tables) => {
      const row = findRun(tables, runId);
      if (row === undefined || this.#leases.isHeld(runId)) return undefined;
      const { status } = row.run;
      if (status !== RunStatus.QUEUED && status !== RunStatus.REQUIRES_ACTION) return undefined;
      return this.#takeRow(row, lease);
    });
  }

  async renewLeases(lease: Lease): Promise<readonly string[]> {
    return this.#leases.renew(lease);
  }

  async takeAbandoned(lease: Lease, limit: number): Promise<readonly StoredRun[]> {
    return this.#read((tables) => {
      const rows = findAbandoned(tables, limit, (runId) => this.#leases.isHeld(runId));
      return rows.map((row) => this.#takeRow(row, lease));
    });
  }

  async createThread(owner: string, thread: Thread, messages: readonly ThreadMessage[]): Promise<void> {
    this.#change((tables) => {
      addMessages(tables, insertThread(tables, owner, thread), messages);
    });
  }

  async getThread(owner: string, threadId: string): Promise<Thread | undefined> {
    return this.#read((tables) => readThread(tables, owner, threadId));
  }

  async updateThread(owner: string, thread: Thread): Promise<boolean> {
    return this.#change((tables) => updateThread(tables, owner, thread));
  }

  async deleteThread(owner: string, threadId: string): Promise<boolean> {
    return this.#change((tables) => deleteThread(tables, owner, threadId));
  }

  async appendMessages(
    owner: string,
    threadId: string,
    messages: readonly ThreadMessage[],
  ): Promise<"appended" | "busy" | "missing"> {
    return this.#change((tables) => {
      const thread = findOwnedThread(tables, owner, threadId);
      if (thread === undefined) return "missing";
      const run = findLatestRun(tables, threadId)?.run;
      if (run !== undefined && (isUnderWay(run.status) || this.#leases.isHeld(run.id))) return "busy";
      addMessages(tables, thread, messages);
      return "appended";
    });
  }

  async listMessages(owner: string, query: MessageQuery): Promise<Page<ThreadMessage>> {
    return this.#read((tables) => listMessages(tables, owner, query));
  }

  async getMessage(owner: string, messageId: string): Promise<ThreadMessage | undefined> {
    return this.#read((tables) => findMessage(tables, owner, messageId));
  }

  async findCall(owner: string, toolCallId: string): Promise<ThreadMessage | undefined> {
    return this.#read((tables) => findCall(tables, owner, toolCallId));
  }

  async deleteMessage(owner: string, threadId: string, messageId: string): Promise<boolean> {
    return this.#change((tables) => deleteMessage(tables, owner, threadId, messageId));
  }

  async readHistory(runId: string): Promise<readonly Message[]> {
    return this.#read((tables) => {
      const row = findRun(tables, runId);
      const thread = row && findThread(tables, row.threadId);
      return thread === undefined ? [] : readHistory(tables, thread.number, row?.startPosition ?? 0);
    });
  }

  async removeOld(before: Date, limit: number): Promise<number> {
    const removed = this.#remove(before.getTime(), limit);
    if (removed > 0) this.#tables.database.shrink();
    return removed;
  }

  async close(): Promise<void> {
    this.#queue.close();
    this.#tables.database.close();
  }

  #read<Result>(run: (tables: Tables) => Result): Result {
    return this.#tables.database.guard(() => run(this.#tables));
  }

  #change<Result>(run: (tables: Tables) => Result): Result {
    return this.#makeRoom(() => this.#tables.database.transaction(() => run(this.#tables)));
  }

  /** Repeats a change for which there was no room in memory, as long as something can be removed. */
  #makeRoom<Result>(change: () => Result): Result {
    for (;;) {
      try {
        return change();
      } catch (error) {
        if (!this.#isInMemory || !isFullFailure(error) || this.#remove(ANY_TIME_MS, EVICTED_RUNS) === 0)
          throw error;
      }
    }
  }

  #remove(beforeMs: number, limit: number): number {
    const { runs, conversations } = this.#tables.database.transaction(() => {
      const runs = findOldRuns(this.#tables, beforeMs, limit, (runId) => this.#leases.isHeld(runId));
      for (const run of runs) deleteRun(this.#tables, run);
      const conversations = deleteOldConversations(this.#tables, beforeMs, limit - runs.length);
      return { runs, conversations };
    });
    this.#forget(runs.map(({ id }) => id));
    return runs.length + conversations;
  }

  #forget(runIds: readonly string[]): void {
    for (const runId of runIds) {
      this.#leases.release(runId);
      this.#notices.notify(runId, "change");
    }
  }

  #takeRow(row: RunRow, lease: Lease): StoredRun {
    const { number, run } = row;
    const { id: runId, lastSequence, cancelRequested } = run;
    const stored = storedRunOf(this.#tables, row);
    this.#leases.hold({ runId, number, lastSequence, cancelRequested }, lease);
    return stored;
  }
}
