import { invalidField } from "../core/errors.ts";
import { type MemoryAccount, RUN_ANSWER_WEIGHT } from "../core/memory-account.ts";
import { getCountedBytes, type MemoryShare, measureMemory } from "../core/memory-pool.ts";
import type { Message } from "../gen/outrigger/v1/message_pb.ts";
import { untilAborted } from "../kit/call/linked-signal.ts";
import { toAbortError } from "../kit/http/abort.ts";
import { RunLimitError } from "./errors.ts";
import type { ConversationSize, StoredRun } from "./store.ts";

/** The default limits. Each kind of work has a limit, so that none can starve another. */
export const DEFAULT_RUN_LIMITS = {
  /** Concurrent foreground runs: as many as the benchmark has streams. A caller waits for each. */
  maxForegroundRuns: 1000,
  /** Background runs that are executed concurrently. The rest are queued, since no caller waits for them. */
  maxBackgroundRuns: 64,
  /** Runs that wait in the queue, of all processes: hours of work, and some hundred megabytes of a store. */
  maxQueuedRuns: 10_000,
  /** Concurrent tool calls. Others wait. Each needs a connection to a server. */
  maxToolExecutions: 128,
  /** Concurrent readers of stored events, in addition to the callers of foreground runs. */
  maxStreamReaders: 1000,
  /** Model calls in one run. */
  maxSteps: 64,
  /**
   * Milliseconds that a run waits for another one of its thread: longer than most answers, shorter than callers wait.
   */
  threadWaitMs: 30_000,
  /**
   * Milliseconds without a heartbeat after which a process loses its runs: two heartbeats may be lost, and the runs of
   * a crashed process continue within half a minute.
   */
  leaseMs: 30_000,
  /**
   * Milliseconds that a foreground run waits for a caller that does not read, before it continues without that caller.
   * The same as the limit on requests whose bytes do not arrive.
   */
  stallTimeoutMs: 30_000,
  /** How long runs are kept after their end, in milliseconds. 0: forever. 30 days, as OpenAI keeps responses. */
  retentionMs: 30 * 24 * 3600 * 1000,
};

/** The limits of one process. */
export type RunLimits = Readonly<typeof DEFAULT_RUN_LIMITS>;

/** Limits concurrent work of one kind. If several owners use the process, each may have only a share. */
export class ConcurrencyLimiter {
  readonly #limit: string;
  readonly #max: number;
  readonly #what: string;
  readonly #shares: Pick<MemoryAccount, "getOwnerLimit">;
  readonly #usedByOwner = new Map<string, number>();
  #used = 0;
  /** Waiters, in order of arrival. */
  readonly #waiting = new Set<() => void>();

  /**
   * @param limit Name of the limit in the configuration.
   * @param what Name of the limited work, for errors: `foreground runs`.
   * @param shares How much of a limit one owner may take.
   */
  constructor(limit: string, max: number, what: string, shares: Pick<MemoryAccount, "getOwnerLimit">) {
    this.#limit = limit;
    this.#max = max;
    this.#what = what;
    this.#shares = shares;
  }

  get free(): number {
    return this.#max - this.#used;
  }

  get fullOwners(): readonly string[] {
    return [...this.#usedByOwner.keys()].filter((owner) => this.#isFull(owner));
  }

  /** Acquires a slot for an owner, until `release`. @throws RunLimitError if there is none. */
  acquire(owner: string): void {
    if (this.#used >= this.#max) throw new RunLimitError(this.#limit, this.#max, this.#what);
    if (!this.assign(owner)) {
      const max = this.#shares.getOwnerLimit(this.#max, owner);
      throw new RunLimitError(this.#limit, max, `${this.#what} of one access key`);
    }
    this.#used += 1;
  }

  /** Assigns a slot to an owner. Returns false if the owner has used its share. */
  assign(owner: string): boolean {
    if (owner === "") return true;
    if (this.#isFull(owner)) return false;
    this.#usedByOwner.set(owner, (this.#usedByOwner.get(owner) ?? 0) + 1);
    return true;
  }

  /** Acquires a slot as soon as one is free. @throws SDKError of the signal's reason if it is aborted first. */
  async acquireWhenFree(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw toAbortError(signal);
    if (this.#used < this.#max) {
      this.#used += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => {
      this.#waiting.delete(resolve);
      reject(toAbortError(signal));
    };
    this.#waiting.add(resolve);
    signal.addEventListener("abort", abort, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Releases a slot. The first waiter gets it. @param owner The owner of the slot; empty if it was not assigned. */
  release(owner: string): void {
    const used = (this.#usedByOwner.get(owner) ?? 0) - 1;
    if (used > 0) this.#usedByOwner.set(owner, used);
    else this.#usedByOwner.delete(owner);
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#used -= 1;
      return;
    }
    this.#waiting.delete(first);
    first();
  }

  #isFull(owner: string): boolean {
    return (this.#usedByOwner.get(owner) ?? 0) >= this.#shares.getOwnerLimit(this.#max, owner);
  }
}

/**
 * A background run reads its conversation only while at most this share of the memory is used: its size is unknown
 * until it is read, and may be as large as the whole limit.
 */
const BUSY_SHARE = 1 / 2;

/**
 * The memory of the stored conversations that runs in progress send to their models. A small request can continue a
 * large conversation, so that the limit on the memory of requests does not help.
 */
export class HistoryMemory {
  readonly account: MemoryAccount;
  /** Whether a background run is reading its conversation. They read one after the other. */
  #isReading = false;
  /** Resolved when a run has read its conversation, or has released memory. */
  #change = Promise.withResolvers<void>();

  constructor(account: MemoryAccount) {
    this.account = account;
  }

  /**
   * Waits until a background run may read its conversation: no other one is reading, and there is memory. Takes none
   * before the conversation is read, so that foreground runs are not rejected because of it.
   * @throws SDKError of the signal's reason if it is aborted first.
   */
  async wait(signal: AbortSignal): Promise<HistoryShare> {
    const { histories } = this.account;
    // If more is used, a large conversation would probably not fit.
    const isBusy = () => histories.usedBytes > histories.maxBytes * BUSY_SHARE;
    while (this.#isReading || isBusy()) await untilAborted(this.#change.promise, signal);
    this.#isReading = true;
    return new HistoryShare(this, "", () => {
      this.#isReading = false;
      this.wake();
    });
  }

  /** Called when memory was released. Waiters check again, in order. */
  wake(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

/**
 * The memory of one run's conversation, until `release`. Foreground runs take it at once; for background runs see
 * `HistoryMemory.wait`.
 */
export class HistoryShare {
  readonly #memory: HistoryMemory;
  #owner: string;
  #answers: MemoryShare | undefined;
  #bytes = 0;
  /** Memory of the tools and settings that the run inherits from the previous one. */
  #previousBytes = 0;
  #onRead: (() => void) | undefined;

  /** @param onRead Called once when the conversation has been read, or will not be read. */
  constructor(memory: HistoryMemory, owner: string, onRead?: () => void) {
    this.#memory = memory;
    this.#owner = owner;
    this.#onRead = onRead;
  }

  /** Returns the memory for the answers of a background run, until `release`. */
  openAnswers(owner: string): MemoryShare {
    this.#answers ??= this.#memory.account.answers.open(owner, RUN_ANSWER_WEIGHT);
    return this.#answers;
  }

  /**
   * Takes memory for a stored conversation and its previous run before they are read. `keepPrevious` and `take` correct
   * the size: a text can take less memory than space in the store, but at least half of it; a compressed text takes
   * more.
   * @throws InvalidRequestError, RateLimitError if it does not fit.
   */
  reserve({ messages, run }: ConversationSize): void {
    const bytes = messages + getCountedBytes(run);
    this.#checkSize(Math.floor(bytes / 2), "previous_run_id");
    const counted = Math.min(bytes, this.#memory.account.histories.maxBytes);
    this.#checkRoom(counted);
    this.#previousBytes = Math.min(getCountedBytes(run), counted);
    this.#set(counted);
  }

  /**
   * Takes memory for the kept parts of the previous run, alongside the conversation.
   * @throws InvalidRequestError, RateLimitError if it does not fit.
   */
  keepPrevious(previous: Pick<StoredRun, "request" | "origin"> | undefined): void {
    const { request, origin } = previous ?? {};
    const bytes = getCountedBytes(measureMemory(request) + measureMemory(origin));
    const all = this.#bytes - this.#previousBytes + bytes;
    this.#checkSize(all, "previous_run_id");
    this.#checkRoom(all);
    this.#previousBytes = bytes;
    this.#set(all);
  }

  /** Checks a conversation that a run in the background will read later. @throws InvalidRequestError */
  check(messages: readonly Message[], field: string): void {
    this.#checkSize(measureMemory(messages), field);
  }

  /** Takes memory for a conversation. @throws InvalidRequestError, RateLimitError if it does not fit. */
  take(messages: readonly Message[], field: string): void {
    const bytes = this.#previousBytes + measureMemory(messages);
    this.#checkSize(bytes, field);
    this.#checkRoom(bytes);
    this.#set(bytes);
  }

  /** Takes memory for a conversation that was admitted before. */
  settle(messages: readonly Message[], owner = this.#owner): void {
    this.#set(0);
    this.#owner = owner;
    this.#set(measureMemory(messages));
    this.#onRead?.();
    this.#onRead = undefined;
  }

  /** Releases all memory. Can be called again. */
  release(): void {
    this.#set(0);
    this.#answers?.end();
    this.#onRead?.();
    this.#onRead = undefined;
  }

  /** Throws if a conversation never fits. @param field Path of the conversation in the request. */
  #checkSize(bytes: number, field: string): void {
    const { maxBytes } = this.#memory.account.histories;
    if (bytes <= maxBytes) return;
    const limit = `expected at most ${maxBytes} at this sidecar (limits.max_history_memory)`;
    throw invalidField(field, `the conversation has ${bytes} bytes, ${limit}`);
  }

  /** Throws if a conversation does not fit now, next to the others. */
  #checkRoom(bytes: number): void {
    const { histories } = this.#memory.account;
    if (!histories.fits(bytes - this.#bytes, this.#owner)) throw histories.createRefusal();
  }

  #set(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more === 0) return;
    this.#bytes = bytes;
    this.#memory.account.histories.change(more, this.#owner);
    if (more < 0) this.#memory.wake();
  }
}
