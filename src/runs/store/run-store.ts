import { yieldTurnAfter } from "../../core/loop-turns.ts";
import type { StepResult } from "../../gen/outrigger/v1/generation_pb.ts";
import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import { type Run, type RunEvent, RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import type { Thread } from "../../gen/outrigger/v1/thread_pb.ts";
import { isQueuedOrRunning, isTerminal } from "../status.ts";
import type {
  AppendResult,
  Claim,
  ClaimedRun,
  ContinuedConversation,
  ConversationSize,
  Holder,
  MessageQuery,
  Page,
  QueueLength,
  RunCreation,
  RunCreationResult,
  RunNotice,
  RunQuery,
  RunStore,
  RunWrite,
  StoredMessage,
  StoredRun,
} from "../store.ts";
import {
  Bodies,
  getCreationTime,
  getLatestTime,
  isIndexedId,
  type MessageRow,
  outOfSequence,
  type StoredRunRow,
} from "./bodies.ts";
import type { BodyCodec } from "./body-codec.ts";
import * as claims from "./claims.ts";
import {
  type Answer,
  countBytes,
  type Driver,
  getBodySpace,
  type Queries,
  type Reader,
  type SpaceUse,
  type Value,
} from "./driver.ts";
import { createThroughOutage, repeatThroughOutage, UncertainWrites } from "./outages.ts";
import * as reads from "./reads.ts";
import * as removal from "./removal.ts";
import { RunSpace } from "./run-space.ts";
import * as writes from "./writes.ts";

/** Runs that are removed in one transaction: a few milliseconds of SQLite. */
const REMOVAL_BATCH = 32;

/** Later than every time in the store. */
const ANY_TIME_MS = Number.MAX_SAFE_INTEGER;

/** A dead process is forgotten after this many timeouts. */
const FORGET_AFTER_TIMEOUTS = 10;

/** Keeps runs in a database. The rules are here, once for all databases; the driver executes statements. */
export class SqlRunStore implements RunStore {
  readonly isShared: boolean;
  readonly #driver: Driver;
  readonly #bodies: Bodies;
  readonly #onProblem: (problem: unknown) => void;
  readonly #uncertainWrites: UncertainWrites;
  /** Undefined if the space is not limited. */
  readonly #room: RunSpace | undefined;
  /**
   * The runs that this process has claimed, so that a write need not read them first. A run is removed while it is
   * being written.
   */
  readonly #claimed = new Map<string, writes.ClaimedRow>();

  /** @param onProblem Called with failures in the background, and with problems that an operator should know about. */
  constructor(driver: Driver, codec: BodyCodec, onProblem: (problem: unknown) => void) {
    this.isShared = driver.isShared;
    this.#driver = driver;
    this.#bodies = new Bodies(codec);
    this.#onProblem = onProblem;
    this.#uncertainWrites = new UncertainWrites(driver, this.#bodies);
    const evict = (limit: number) => this.#removeBatch(ANY_TIME_MS, limit);
    this.#room = driver.space && new RunSpace(driver.space, evict, onProblem);
  }

  /** Loads the state that the store keeps in memory. Called once, before all other methods. */
  async open(): Promise<void> {
    if (this.#room === undefined) return;
    const rows = await this.#driver.read<{ id: string; bytes: number }>(reads.FIND_QUEUED_OR_RUNNING, []);
    for (const { id, bytes } of rows) this.#room?.add(id, bytes);
  }

  async createRun(creation: RunCreation): Promise<RunCreationResult> {
    const create = () => writes.createRun(this.#driver, this.#room, this.#bodies, creation);
    const inRoom = () => this.#inRoom(create);
    const result = await createThroughOutage(this.#driver, creation, this.#bodies, inRoom);
    if (result.case !== "created") return result;
    const { number, ...created } = result;
    const { request, holder } = creation;
    if (holder === undefined) this.#driver.notices.announceQueued();
    // The previous run may have been concluded.
    if (request.previousRunId !== "") this.#driver.notices.announce(request.previousRunId, "change");
    if (holder === undefined || created.claim !== undefined) return created;
    const claim = { runId: created.run.id, holderId: holder.id, fence: 1 };
    if (number !== undefined) {
      const last_sequence = creation.events.at(-1)?.sequence ?? -1;
      this.#claimed.set(claim.runId, { number, last_sequence, steps: 0, fence: claim.fence });
    }
    return { ...created, claim };
  }

  async getRun(owner: string, runId: string): Promise<StoredRun | undefined> {
    return this.#readRun(reads.GET_RUN, [runId, owner]);
  }

  async findLatestRun(owner: string, threadId: string): Promise<StoredRun | undefined> {
    return this.#readRun(reads.FIND_LATEST_RUN, [threadId, owner]);
  }

  async readSteps(runId: string): Promise<readonly StepResult[]> {
    const rows = await this.#read<{ number: number; body: Uint8Array }>(reads.READ_STEPS, [runId], "run");
    return rows.map(({ number, body }) => this.#bodies.readStep(runId, number, body));
  }

  async listRuns(owner: string, query: RunQuery): Promise<Page<Run>> {
    return reads.listRuns(this.#driver, owner, query, this.#bodies);
  }

  async deleteRun(owner: string, runId: string): Promise<boolean> {
    const removed = await this.#remove((queries) => removal.removeRun(queries, owner, runId));
    this.#forget(removed);
    return removed.length > 0;
  }

  async write(write: RunWrite): Promise<boolean> {
    if (!(await this.#uncertainWrites.write(write, this.#attempt))) return false;
    this.#driver.notices.announce(write.claim.runId, "change");
    if (write.run?.status === RunStatus.QUEUED) this.#driver.notices.announceQueued();
    return true;
  }

  readonly #attempt = async (write: RunWrite, revision: number): Promise<boolean> => {
    const { claim, run, events = [], steps = [] } = write;
    const { runId, fence } = claim;
    const known = this.#claimed.get(runId);
    const claimed = known?.fence === fence ? known : await this.#readClaimed(claim);
    if (claimed === undefined) return false;
    // Removed until the outcome is known.
    this.#claimed.delete(runId);
    const [first] = events;
    if (first !== undefined && first.sequence !== claimed.last_sequence + 1) {
      const now = await this.#readClaimed(claim);
      if (now === undefined) return false;
      throw outOfSequence(now.last_sequence + 1, first.sequence);
    }
    const { calls, checking } = writes.createWriteCalls(write, revision, claimed, this.#bodies);
    const use = run !== undefined && isTerminal(run.status) ? "end" : "append";
    const bytes = countBytes(calls);
    // Executing the statements takes as long as encoding them.
    const turn = yieldTurnAfter(bytes);
    if (turn !== undefined) await turn;
    const answers = await this.#inRoom(() => this.#driver.batch(calls, use));
    if (answers[checking]?.changes === 0) return false;
    if (!writes.endsClaim(write)) {
      const last_sequence = events.at(-1)?.sequence ?? claimed.last_sequence;
      this.#claimed.set(runId, {
        number: claimed.number,
        last_sequence,
        steps: claimed.steps + steps.length,
        fence,
      });
    }
    if (run !== undefined && !isQueuedOrRunning(run.status)) this.#room?.remove(runId);
    else this.#room?.add(runId, bytes);
    return true;
  };

  async #readClaimed({ runId, holderId, fence }: Claim): Promise<writes.ClaimedRow | undefined> {
    const values = [runId, holderId, fence];
    const [claimed] = await this.#driver.read<writes.ClaimedRow>(writes.FIND_CLAIMED, values, "run");
    return claimed;
  }

  readEvents(runId: string, afterSequence: number, maxEvents: number, owner?: string): Promise<RunEvent[]> {
    const range = { runId, afterSequence, maxEvents, owner };
    return repeatThroughOutage(() => reads.readEvents(this.#driver, range, this.#bodies));
  }

  async requestCancel(owner: string, runId: string): Promise<StoredRun | undefined> {
    const { rows } = await this.#change(reads.REQUEST_CANCEL, [runId, owner]);
    const [row] = rows as StoredRunRow[];
    const stored = row && this.#bodies.readStoredRun(row);
    if (stored?.run.cancelRequested === true) this.#driver.notices.announce(runId, "cancel");
    return stored;
  }

  subscribe(runId: string, listener: (notice: RunNotice) => void): () => void {
    return this.#driver.notices.subscribe(runId, listener);
  }

  async countQueued(owner: string): Promise<QueueLength> {
    const [row] = await this.#read<QueueLength>(reads.COUNT_QUEUED, [owner], "run");
    return { owner: row?.owner ?? 0, total: row?.total ?? 0 };
  }

  subscribeToQueue(listener: () => void): () => void {
    return this.#driver.notices.subscribeToQueue(listener);
  }

  async renewLease({ id, timeoutMs }: Holder): Promise<readonly string[]> {
    const renew = { text: claims.RENEW_LEASE, values: [id, timeoutMs] };
    const forget = { text: claims.FORGET_PROCESSES, values: [timeoutMs * FORGET_AFTER_TIMEOUTS] };
    const find = { text: claims.FIND_CANCELLED, values: [id] };
    const results = await this.#driver.batch([renew, forget, find], "any");
    const cancelled = results.at(-1)?.rows as { id: string }[];
    return cancelled.map((row) => row.id);
  }

  async claimQueued(holder: Holder, limit: number, exceptOwners: readonly string[]): Promise<ClaimedRun[]> {
    // In SQLite, a read costs much less than an update that finds nothing, and most calls find nothing.
    if (!this.isShared && (await this.#driver.read(reads.FIND_QUEUED, [])).length === 0) return [];
    return this.#claim(holder, claims.CLAIM_QUEUED, [holder.id, limit, exceptOwners]);
  }

  async claim(runId: string, holder: Holder): Promise<ClaimedRun | undefined> {
    const [claimed] = await this.#claim(holder, claims.CLAIM, [runId, holder.id]);
    return claimed;
  }

  async claimAbandoned(
    holder: Holder,
    known: readonly string[],
    limit: number,
  ): Promise<readonly ClaimedRun[]> {
    await this.#change(claims.FREE_ABANDONED, [holder.id, known]);
    return this.#claim(holder, claims.CLAIM_ABANDONED, [holder.id, limit, known]);
  }

  /** Claims runs by a statement that returns their rows. Runs that cannot be read are set to FAILED. */
  async #claim(holder: Holder, text: string, values: readonly Value[]): Promise<ClaimedRun[]> {
    const { rows } = await this.#change(text, values);
    const claimed: ClaimedRun[] = [];
    for (const row of ([...rows] as claims.ClaimedRunRow[]).sort(
      (left, right) => left.number - right.number,
    )) {
      const claim = { runId: row.id, holderId: holder.id, fence: row.fence };
      try {
        claimed.push({ ...this.#bodies.readStoredRun(row), claim });
        this.#room?.add(row.id, getBodySpace(row.body.byteLength + row.request.byteLength));
      } catch (thrown) {
        this.#onProblem(thrown);
        const end = claims.createUnreadableEnd(row, claim, this.#bodies);
        await this.#driver.batch(end, "end").then(() => this.#forget([row.id]), this.#onProblem);
      }
    }
    return claimed;
  }

  async releaseLease({ id }: Holder): Promise<void> {
    await this.#change(claims.RELEASE_LEASE, [id]);
  }

  async createThread(owner: string, thread: Thread, messages: readonly StoredMessage[]): Promise<void> {
    const usedAt = Math.max(getCreationTime(thread), getLatestTime(messages));
    const calls = [
      writes.insertThread(owner, thread, messages.length, usedAt, this.#bodies),
      ...writes.insertMessages(owner, thread.id, 0, messages, this.#bodies),
    ];
    // Not `await`, which would hold the messages alongside their bodies.
    return this.#inRoom(() => this.#driver.batch(calls, "create")).then(() => undefined);
  }

  async getThread(owner: string, threadId: string): Promise<Thread | undefined> {
    const [row] = await this.#read<{ body: Uint8Array }>(reads.GET_THREAD, [threadId, owner]);
    return row && this.#bodies.readThread(threadId, row.body);
  }

  async updateThread(owner: string, thread: Thread): Promise<boolean> {
    const values = [thread.id, owner, this.#bodies.writeThread(thread)];
    const { changes } = await this.#inRoom(() => this.#change(reads.UPDATE_THREAD, values, "create"));
    return changes > 0;
  }

  async deleteThread(owner: string, threadId: string): Promise<boolean> {
    const isRemoved = await this.#remove((queries) => removal.removeThread(queries, owner, threadId));
    if (isRemoved) this.#driver.shrink();
    return isRemoved;
  }

  async appendMessages(
    owner: string,
    threadId: string,
    messages: readonly StoredMessage[],
  ): Promise<AppendResult> {
    return this.#inRoom(() =>
      this.#driver.transaction("create", async (queries): Promise<AppendResult> => {
        const [[thread], [latest]] = await Promise.all([
          queries.query<writes.ThreadRow>(writes.LOCK_THREAD, [threadId, owner]),
          queries.query<writes.LockedRunRow>(writes.LOCK_LATEST_RUN, [threadId, owner]),
        ]);
        if (thread === undefined) return { case: "missing" };
        if (latest !== undefined && writes.isActive(latest)) return { case: "busy", activeRunId: latest.id };
        const end = thread.next_position + messages.length;
        await queries.execute([
          ...writes.insertMessages(owner, threadId, thread.next_position, messages, this.#bodies),
          { text: writes.USE_THREAD, values: [threadId, end, getLatestTime(messages)] },
        ]);
        return { case: "appended" };
      }),
    );
  }

  async listMessages(owner: string, query: MessageQuery): Promise<Page<StoredMessage>> {
    return reads.listMessages(this.#driver, owner, query, this.#bodies);
  }

  async getMessage(owner: string, messageId: string, threadId = ""): Promise<StoredMessage | undefined> {
    const [row] = await this.#read<MessageRow>(reads.GET_MESSAGE, [messageId, owner, threadId]);
    return row && this.#bodies.readMessage(row);
  }

  async findCall(owner: string, toolCallId: string): Promise<StoredMessage | undefined> {
    if (!isIndexedId(toolCallId)) return undefined;
    const [row] = await this.#read<MessageRow>(reads.FIND_CALL, [owner, toolCallId]);
    return row && this.#bodies.readMessage(row);
  }

  async deleteMessage(owner: string, threadId: string, messageId: string): Promise<boolean> {
    return this.#remove((queries) => removal.removeMessage(queries, owner, threadId, messageId));
  }

  async readHistory(runId: string): Promise<readonly Message[]> {
    return this.#bodies.readHistory(await this.#read(reads.READ_HISTORY_OF_RUN, [runId], "run"));
  }

  async measureConversation(
    owner: string,
    { previousRunId, threadId }: ContinuedConversation,
  ): Promise<ConversationSize> {
    const values = [previousRunId, threadId, owner];
    const [row] = await this.#read<ConversationSize>(reads.MEASURE_CONVERSATION, values);
    // PostgreSQL returns sums as texts.
    return { messages: Number(row?.messages), run: Number(row?.run) };
  }

  async removeOld(before: Date, limit: number): Promise<number> {
    let removed = 0;
    while (removed < limit) {
      const count = await this.#removeBatch(before.getTime(), Math.min(limit - removed, REMOVAL_BATCH));
      if (count === 0) break;
      removed += count;
    }
    return removed;
  }

  async #removeBatch(before: number, limit: number): Promise<number> {
    const removed = await this.#remove((queries) => removal.removeOldest(queries, before, limit));
    this.#forget(removed.runIds);
    return removed.runIds.length + removed.threads;
  }

  #remove<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result> {
    return this.#driver.transaction("any", work);
  }

  /** Executes one statement. */
  async #change(text: string, values: readonly Value[], use: SpaceUse = "any"): Promise<Answer> {
    const [answer = { rows: [], changes: 0 }] = await this.#driver.batch([{ text, values }], use);
    return answer;
  }

  close(): Promise<void> {
    return this.#driver.close();
  }

  /** Executes a change, for which room is made if the space is limited. */
  #inRoom<Result>(change: () => Promise<Result>): Promise<Result> {
    return this.#room?.executeWithEviction(change) ?? change();
  }

  /** Forgets removed runs, and notifies their readers. */
  #forget(runIds: readonly string[]): void {
    for (const runId of runIds) {
      this.#claimed.delete(runId);
      this.#room?.remove(runId);
      this.#driver.notices.announce(runId, "change");
    }
    if (runIds.length > 0) this.#driver.shrink();
  }

  #read<Row>(text: string, values: readonly Value[], reader?: Reader): Promise<Row[]> {
    return repeatThroughOutage(() => this.#driver.read<Row>(text, values, reader));
  }

  async #readRun(text: string, values: readonly Value[]): Promise<StoredRun | undefined> {
    const [row] = await this.#read<StoredRunRow>(text, values);
    return row && this.#bodies.readStoredRun(row);
  }
}
