import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { InternalError, invalidField } from "../../core/errors.ts";
import type { StepResult } from "../../gen/outrigger/v1/generation_pb.ts";
import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import { type Run, type RunEvent, RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import { type Thread, type ThreadMessage, ThreadSchema } from "../../gen/outrigger/v1/thread_pb.ts";
import { heedsCancel, isTerminal, isUnderWay } from "../status.ts";
import type {
  Lease,
  MessageQuery,
  Page,
  PageQuery,
  RunCreation,
  RunCreationResult,
  RunNotice,
  RunQuery,
  RunStore,
  RunWrite,
  StoredRun,
} from "../store.ts";
import { firstCallId } from "./first-call-id.ts";

/** Options of a MemoryStore. */
export interface MemoryStoreOptions {
  /** Whether events can be read again. Default true. A run that is not stored needs none. */
  readonly keepsEvents?: boolean | undefined;
}

/** How long a run that was delivered and not taken waits for the next delivery, in milliseconds. */
const REDELIVERY_MS = 1_000;

/** A run with its data. */
interface RunRecord extends StoredRun {
  run: Run;
  readonly steps: StepResult[];
  readonly events: RunEvent[];
  readonly thread: ThreadRecord;
  /** The first position in the thread that it does not read. */
  readonly historyEnd: number;
  lease: { readonly holder: string; readonly expiresAt: number } | undefined;
}

/** A message and its place. */
interface Entry {
  /** Rises within a thread. */
  readonly position: number;
  readonly message: ThreadMessage;
  /** The run that added it. */
  readonly addedBy: RunRecord | undefined;
}

interface ThreadRecord {
  thread: Thread;
  readonly owner: string;
  entries: Entry[];
  nextPosition: number;
  /** Its runs, the latest last. */
  readonly runs: RunRecord[];
  isDeleted: boolean;
  changedAt: number;
}

type Handler = (runId: string) => Promise<void>;

/** Keeps runs in memory: for runs that are not stored, and for tests. Nothing survives the end of the process. */
export class MemoryStore implements RunStore {
  readonly isShared = false;
  readonly #keepsEvents: boolean;
  readonly #runs = new Map<string, RunRecord>();
  readonly #threads = new Map<string, ThreadRecord>();
  readonly #listeners = new Map<string, Set<(notice: RunNotice) => void>>();
  /** Ids of queued runs that have not been delivered. */
  readonly #queue = new Set<string>();
  readonly #consumers = new Set<Consumer>();

  constructor({ keepsEvents = true }: MemoryStoreOptions = {}) {
    this.#keepsEvents = keepsEvents;
  }

  async createRun(creation: RunCreation): Promise<RunCreationResult> {
    if (this.#runs.has(creation.run.id)) throw new InternalError(`there is a run ${creation.run.id} already`);
    const place = this.#placeOf(creation);
    if (place.case !== "found") return place;
    const { thread, previous, forked } = place;
    const history = thread.entries.flatMap(({ message }) => message.message ?? []);
    const input = creation.input(history);
    const run: Run = { ...creation.run, threadId: thread.thread.id };
    const events = creation.events.map((event) => withThread(event, thread.thread.id));
    if (previous?.run.status === RunStatus.REQUIRES_ACTION) {
      const { run: concluded = previous.run, events: last = [] } = creation.concludePrevious(previous.run);
      this.#append(previous, last);
      previous.run = withLatest(concluded, previous.run, last);
    }
    const record: RunRecord = {
      run,
      owner: creation.owner,
      request: creation.request,
      steps: [],
      events: [],
      thread,
      historyEnd: thread.nextPosition,
      lease: creation.lease && expiryOf(creation.lease),
    };
    this.#append(record, events);
    this.#threads.set(thread.thread.id, thread);
    this.#runs.set(run.id, record);
    thread.runs.push(record);
    addMessages(thread, input, record);
    thread.changedAt = Math.max(thread.changedAt, createdAt(run));
    if (previous !== undefined) this.#notify(previous.run.id, "change");
    if (creation.lease === undefined) this.#enqueue(run.id);
    return { case: "created", run, forked };
  }

  async getRun(owner: string, runId: string): Promise<StoredRun | undefined> {
    return viewOf(this.#ownRun(owner, runId));
  }

  async readSteps(runId: string): Promise<readonly StepResult[]> {
    return [...(this.#runs.get(runId)?.steps ?? [])];
  }

  async listRuns(owner: string, query: RunQuery): Promise<Page<Run>> {
    const { threadId, statuses } = query;
    const runs = [...this.#runs.values()]
      .filter((record) => record.owner === owner)
      .map(({ run }) => run)
      .filter((run) => threadId === "" || run.threadId === threadId)
      .filter(({ status }) => statuses.length === 0 || statuses.includes(status))
      .sort((left, right) => createdAt(right) - createdAt(left) || (left.id < right.id ? 1 : -1));
    return pageOf(runs, query);
  }

  async deleteRun(owner: string, runId: string): Promise<boolean> {
    const record = this.#ownRun(owner, runId);
    if (record === undefined) return false;
    this.#remove(record);
    return true;
  }

  async write(write: RunWrite): Promise<boolean> {
    const record = this.#runs.get(write.runId);
    const { lease, events = [], latestStep, steps = [], messages = [] } = write;
    if (record === undefined || !isHeldBy(record, lease.holder)) return false;
    this.#append(record, events);
    if (latestStep !== undefined) record.steps.splice(-1, 1, latestStep);
    record.steps.push(...steps);
    addMessages(record.thread, messages, record);
    record.run = withLatest(write.run ?? record.run, record.run, events);
    const ends = write.run !== undefined && write.run.status !== RunStatus.IN_PROGRESS;
    record.lease = ends ? undefined : expiryOf(lease);
    if (write.run?.status === RunStatus.QUEUED) this.#enqueue(write.runId);
    if (events.length > 0) this.#notify(write.runId, "change");
    return true;
  }

  async readEvents(runId: string, afterSequence: number, maxEvents: number): Promise<readonly RunEvent[]> {
    const from = afterSequence + 1;
    return this.#runs.get(runId)?.events.slice(from, from + maxEvents) ?? [];
  }

  async requestCancel(owner: string, runId: string): Promise<StoredRun | undefined> {
    const record = this.#ownRun(owner, runId);
    if (record === undefined || isTerminal(record.run.status)) return viewOf(record);
    record.run = { ...record.run, cancelRequested: true };
    this.#notify(runId, "cancel");
    return viewOf(record);
  }

  subscribe(runId: string, onNotice: (notice: RunNotice) => void): () => void {
    const listeners = this.#listeners.get(runId) ?? new Set();
    this.#listeners.set(runId, listeners.add(onNotice));
    return () => {
      listeners.delete(onNotice);
      if (listeners.size === 0 && this.#listeners.get(runId) === listeners) this.#listeners.delete(runId);
    };
  }

  async countQueued(): Promise<number> {
    let count = 0;
    for (const { run } of this.#runs.values()) if (run.status === RunStatus.QUEUED) count += 1;
    return count;
  }

  async deliverQueued(handle: Handler, concurrency: number): Promise<() => Promise<void>> {
    const consumer = new Consumer(handle, concurrency, (runId) => this.#settleDelivery(runId));
    this.#consumers.add(consumer);
    for (const { run, lease } of this.#runs.values())
      if (run.status === RunStatus.QUEUED && lease === undefined) this.#queue.add(run.id);
    this.#deliver();
    return () => {
      this.#consumers.delete(consumer);
      return consumer.stop();
    };
  }

  async take(runId: string, lease: Lease): Promise<StoredRun | undefined> {
    const record = this.#runs.get(runId);
    if (record === undefined || isHeld(record)) return undefined;
    const { status } = record.run;
    if (status !== RunStatus.QUEUED && status !== RunStatus.REQUIRES_ACTION) return undefined;
    record.lease = expiryOf(lease);
    this.#queue.delete(runId);
    return viewOf(record);
  }

  async renewLeases(lease: Lease): Promise<readonly string[]> {
    const held = [...this.#runs.values()].filter((record) => isHeldBy(record, lease.holder));
    for (const record of held) record.lease = expiryOf(lease);
    return held.filter(({ run }) => run.cancelRequested).map(({ run }) => run.id);
  }

  async takeAbandoned(lease: Lease, limit: number): Promise<readonly StoredRun[]> {
    const abandoned = [...this.#runs.values()]
      .filter((record) => record.run.status === RunStatus.IN_PROGRESS && !isHeld(record))
      .slice(0, limit);
    for (const record of abandoned) record.lease = expiryOf(lease);
    return abandoned.map((record) => viewOf(record));
  }

  async createThread(owner: string, thread: Thread, messages: readonly ThreadMessage[]): Promise<void> {
    const record = createThreadRecord(owner, thread);
    addMessages(record, messages, undefined);
    this.#threads.set(thread.id, record);
  }

  async getThread(owner: string, threadId: string): Promise<Thread | undefined> {
    return this.#ownThread(owner, threadId)?.thread;
  }

  async updateThread(owner: string, thread: Thread): Promise<boolean> {
    const record = this.#ownThread(owner, thread.id);
    if (record === undefined) return false;
    record.thread = { ...record.thread, metadata: thread.metadata };
    return true;
  }

  async deleteThread(owner: string, threadId: string): Promise<boolean> {
    const record = this.#ownThread(owner, threadId);
    if (record === undefined) return false;
    this.#removeThread(record);
    return true;
  }

  async appendMessages(
    owner: string,
    threadId: string,
    messages: readonly ThreadMessage[],
  ): Promise<"appended" | "busy" | "missing"> {
    const record = this.#ownThread(owner, threadId);
    if (record === undefined) return "missing";
    if (activeRunOf(record) !== undefined) return "busy";
    addMessages(record, messages, undefined);
    return "appended";
  }

  async listMessages(owner: string, query: MessageQuery): Promise<Page<ThreadMessage>> {
    const { threadId, inputOfRunId, order } = query;
    const own = inputOfRunId === undefined ? undefined : this.#ownRun(owner, inputOfRunId);
    const record = own?.thread ?? (threadId === undefined ? undefined : this.#ownThread(owner, threadId));
    const wanted = (record?.entries ?? [])
      .filter(({ message, addedBy }) => own === undefined || (addedBy === own && !message.isOutput))
      .map(({ message }) => message);
    return pageOf(order === "oldest first" ? wanted : wanted.toReversed(), query);
  }

  async getMessage(owner: string, messageId: string): Promise<ThreadMessage | undefined> {
    for (const record of this.#threads.values())
      if (record.owner === owner)
        for (const { message } of record.entries) if (message.id === messageId) return message;
    return undefined;
  }

  async findCall(owner: string, toolCallId: string): Promise<ThreadMessage | undefined> {
    const messages = [...this.#threads.values()]
      .filter((record) => record.owner === owner)
      .flatMap(({ entries }) => entries.map(({ message }) => message));
    return messages.findLast((message) => toolCallId !== "" && firstCallId(message) === toolCallId);
  }

  async deleteMessage(owner: string, threadId: string, messageId: string): Promise<boolean> {
    const record = this.#ownThread(owner, threadId);
    const index = record?.entries.findIndex(({ message }) => message.id === messageId) ?? -1;
    if (record === undefined || index === -1) return false;
    record.entries.splice(index, 1);
    return true;
  }

  async readHistory(runId: string): Promise<readonly Message[]> {
    const record = this.#runs.get(runId);
    if (record === undefined) return [];
    const { thread, historyEnd } = record;
    return thread.entries.flatMap(({ position, message }) =>
      position < historyEnd ? (message.message ?? []) : [],
    );
  }

  async removeOld(before: Date, limit: number): Promise<number> {
    const time = before.getTime();
    const runs = [...this.#runs.values()].filter(({ run }) => endOf(run) < time).slice(0, limit);
    for (const record of runs) this.#remove(record);
    const threads = [...this.#threads.values()]
      .filter(
        ({ thread, changedAt, runs: own }) => thread.isConversation && changedAt < time && own.length === 0,
      )
      .slice(0, limit - runs.length);
    for (const record of threads) this.#removeThread(record);
    return runs.length + threads.length;
  }

  async close(): Promise<void> {
    const consumers = [...this.#consumers];
    this.#consumers.clear();
    await Promise.all(consumers.map((consumer) => consumer.stop()));
  }

  /** The thread that a new run belongs to, and the run that it continues. */
  #placeOf({ run, owner, request }: RunCreation): Place {
    const { previousRunId, threadId } = request;
    if (previousRunId !== "") return this.#placeAfter(owner, previousRunId, run);
    if (threadId === "")
      return { case: "found", thread: createThreadRecord(owner, newThread(run)), forked: false };
    const thread = this.#ownThread(owner, threadId);
    if (thread === undefined) return { case: "missing", field: "thread_id" };
    const active = activeRunOf(thread);
    if (active !== undefined) return { case: "busy", activeRunId: active.run.id };
    return { case: "found", thread, previous: thread.runs.at(-1), forked: false };
  }

  #placeAfter(owner: string, previousRunId: string, run: Run): Place {
    const previous = this.#ownRun(owner, previousRunId);
    if (previous === undefined || previous.thread.isDeleted)
      return { case: "missing", field: "previous_run_id" };
    if (isUnderWay(previous.run.status) || isHeld(previous))
      return { case: "unfinished", status: previous.run.status };
    const { thread } = previous;
    const isOfPrevious = ({ position, addedBy }: Entry) =>
      position < previous.historyEnd || addedBy === previous;
    if (thread.runs.at(-1) === previous && thread.entries.every(isOfPrevious))
      return { case: "found", thread, previous, forked: false };
    const fork = createThreadRecord(owner, newThread(run));
    fork.entries = thread.entries.filter(isOfPrevious);
    fork.nextPosition = thread.nextPosition;
    return { case: "found", thread: fork, previous, forked: true };
  }

  #ownRun(owner: string, runId: string): RunRecord | undefined {
    const record = this.#runs.get(runId);
    return record?.owner === owner ? record : undefined;
  }

  #ownThread(owner: string, threadId: string): ThreadRecord | undefined {
    const record = this.#threads.get(threadId);
    return record?.owner === owner ? record : undefined;
  }

  /** @throws InternalError where the events do not follow those that are there. */
  #append(record: RunRecord, events: readonly RunEvent[]): void {
    if (!this.#keepsEvents) return;
    let expected = record.events.length;
    for (const { sequence } of events) {
      if (sequence !== expected)
        throw new InternalError(`expected event ${expected} of the run, found ${sequence}`);
      expected += 1;
    }
    record.events.push(...events);
  }

  #remove(record: RunRecord): void {
    const { thread, run } = record;
    this.#runs.delete(run.id);
    this.#queue.delete(run.id);
    thread.runs.splice(thread.runs.indexOf(record), 1);
    if (!thread.thread.isConversation) this.#dropUnread(thread);
    this.#notify(run.id, "change");
  }

  /** Removes the messages of a thread that no run of it reads or wrote. */
  #dropUnread(thread: ThreadRecord): void {
    const last = thread.runs.at(-1);
    if (last === undefined) return this.#removeThread(thread);
    thread.entries = thread.entries.filter(
      ({ position, addedBy }) => position < last.historyEnd || addedBy === last,
    );
  }

  #removeThread(thread: ThreadRecord): void {
    thread.isDeleted = true;
    thread.entries = [];
    this.#threads.delete(thread.thread.id);
  }

  #notify(runId: string, notice: RunNotice): void {
    const listeners = this.#listeners.get(runId);
    if (listeners !== undefined)
      for (const listener of [...listeners]) queueMicrotask(() => listener(notice));
  }

  #enqueue(runId: string): void {
    this.#queue.add(runId);
    this.#deliver();
  }

  #deliver(): void {
    for (const consumer of this.#consumers)
      while (consumer.isFree) {
        const [runId] = this.#queue;
        if (runId === undefined) return;
        this.#queue.delete(runId);
        consumer.give(runId);
      }
  }

  /** Requeues a run that its consumer has not taken, after REDELIVERY_MS. */
  #settleDelivery(runId: string): void {
    const record = this.#runs.get(runId);
    if (record?.run.status === RunStatus.QUEUED && !isHeld(record))
      setTimeout(() => this.#requeue(runId), REDELIVERY_MS).unref();
    this.#deliver();
  }

  #requeue(runId: string): void {
    const record = this.#runs.get(runId);
    if (record?.run.status === RunStatus.QUEUED && !isHeld(record)) this.#enqueue(runId);
  }
}

/** A consumer of queued runs, with the arguments of `deliverQueued`. */
class Consumer {
  readonly #handle: Handler;
  readonly #concurrency: number;
  readonly #onSettled: (runId: string) => void;
  readonly #underWay = new Set<Promise<void>>();
  #isStopped = false;

  constructor(handle: Handler, concurrency: number, onSettled: (runId: string) => void) {
    this.#handle = handle;
    this.#concurrency = concurrency;
    this.#onSettled = onSettled;
  }

  get isFree(): boolean {
    return !this.#isStopped && this.#underWay.size < this.#concurrency;
  }

  give(runId: string): void {
    const settle = () => {
      this.#underWay.delete(delivery);
      this.#onSettled(runId);
    };
    // A run whose handling failed is delivered again.
    const delivery = this.#handle(runId).then(settle, settle);
    this.#underWay.add(delivery);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#underWay);
  }
}

type Place =
  | {
      readonly case: "found";
      readonly thread: ThreadRecord;
      readonly previous?: RunRecord | undefined;
      readonly forked: boolean;
    }
  | Exclude<RunCreationResult, { case: "created" }>;

/** A copy of a run for callers. */
function viewOf(record: RunRecord): StoredRun;
function viewOf(record: RunRecord | undefined): StoredRun | undefined;
function viewOf(record: RunRecord | undefined): StoredRun | undefined {
  if (record === undefined) return undefined;
  const { run, owner, request } = record;
  return { run, owner, request };
}

function createThreadRecord(owner: string, thread: Thread): ThreadRecord {
  const changedAt = createdAt(thread);
  return { thread, owner, entries: [], nextPosition: 0, runs: [], isDeleted: false, changedAt };
}

/** The thread of a run that continues nothing. */
function newThread({ threadId, createdAt: time }: Run): Thread {
  return create(ThreadSchema, { id: threadId, ...(time === undefined ? {} : { createdAt: time }) });
}

function addMessages(
  thread: ThreadRecord,
  messages: readonly ThreadMessage[],
  addedBy: RunRecord | undefined,
): void {
  if (thread.isDeleted) return;
  for (const message of messages) {
    thread.entries.push({ position: thread.nextPosition, message, addedBy });
    thread.nextPosition += 1;
    thread.changedAt = Math.max(thread.changedAt, createdAt(message));
  }
}

function activeRunOf(thread: ThreadRecord): RunRecord | undefined {
  const last = thread.runs.at(-1);
  return last !== undefined && (isUnderWay(last.run.status) || isHeld(last)) ? last : undefined;
}

function isHeld({ lease }: RunRecord): boolean {
  return lease !== undefined && lease.expiresAt > performance.now();
}

/** An expired lease remains valid until another process takes the run. */
function isHeldBy({ lease }: RunRecord, holder: string): boolean {
  return lease?.holder === holder;
}

function expiryOf({ holder, durationMs }: Lease): RunRecord["lease"] {
  return { holder, expiresAt: performance.now() + durationMs };
}

function withThread(event: RunEvent, threadId: string): RunEvent {
  if (event.event.case !== "run") return event;
  return { ...event, event: { case: "run", value: { ...event.event.value, threadId } } };
}

/** The next state of a run: the sequence number follows the events, and a request to cancel stays. */
function withLatest(next: Run, before: Run, events: readonly RunEvent[]): Run {
  const lastSequence = events.at(-1)?.sequence ?? before.lastSequence;
  return {
    ...next,
    lastSequence,
    cancelRequested: next.cancelRequested || (before.cancelRequested && heedsCancel(next.status)),
  };
}

function createdAt({ createdAt: time }: Pick<Run, "createdAt">): number {
  return time === undefined ? 0 : timestampMs(time);
}

/** When a run ended, for its removal. Infinity where it is under way. */
function endOf(run: Run): number {
  if (run.status === RunStatus.REQUIRES_ACTION) return createdAt(run);
  return isTerminal(run.status) && run.endedAt !== undefined ? timestampMs(run.endedAt) : Infinity;
}

function pageOf<Element extends { readonly id: string }>(
  elements: readonly Element[],
  { after, limit }: PageQuery,
): Page<Element> {
  const index = after === "" ? -1 : elements.findIndex(({ id }) => id === after);
  if (after !== "" && index === -1) throw invalidField("after", "expected the id of an element of the list");
  const page = elements.slice(index + 1, index + 1 + limit);
  return { elements: page, hasMore: index + 1 + limit < elements.length };
}
