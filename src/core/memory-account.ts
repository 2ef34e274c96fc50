import { getHeapStatistics } from "node:v8";
import { MemoryPool, type PoolAccount } from "./memory-pool.ts";

/** The limits of each use of memory, in bytes. */
export interface MemoryLimits {
  /** Requests in progress, buffered and decoded. Default: an eighth of the heap. */
  readonly maxRequestMemoryBytes: number;
  /**
   * Answers of providers, from their first bytes until they are sent, in all of their forms. Default: half of the heap.
   */
  readonly maxAnswerMemoryBytes: number;
  /** Stored conversations that runs in progress send to their models. Default: an eighth of the heap. */
  readonly maxHistoryMemoryBytes: number;
  /** Stored responses and messages that are being read, in all of their forms. Default: a quarter of the heap. */
  readonly maxReadMemoryBytes: number;
  /** Bytes of responses that wait to be read. Default: an eighth of the heap. */
  readonly maxUnsentBytes: number;
  /** Responses that open WebSockets may continue without storing them. Default: a sixteenth of the heap. */
  readonly maxKeptMemoryBytes: number;
}

/** Maximum of a default limit: no use needs more on a machine with a lot of memory. */
const MAX_BYTES = 1024 * 1024 * 1024;

/**
 * Maximum number of copies of a whole answer in memory: its text, the text in its message, and the form for the caller.
 * Measured.
 */
export const ANSWER_WEIGHT = 4;

/** The same for the answer of a run, which also has events with the whole text and a stored form. Measured. */
export const RUN_ANSWER_WEIGHT = 8;

/** The same for data that is read from the store. Measured. */
export const READ_WEIGHT = 4;

/** The largest answer on any machine: images arrive inside an answer. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * The part of the heap that the account gives away. The rest is for the program itself and for V8's garbage collection.
 */
const HEAP_SHARE = 3 / 4;

/** The part of a use's limit that other uses leave free, so that a call in progress can finish. */
const GUARANTEED_SHARE = 1 / 2;

/** The most of a limit that one owner may take if there are several. */
const OWNER_SHARE = 3 / 4;

/** Returns limits that fit a heap. */
export function getMemoryLimits(heapBytes: number = getHeapStatistics().heap_size_limit): MemoryLimits {
  const part = (divisor: number) => Math.min(Math.floor(heapBytes / divisor), MAX_BYTES);
  return {
    maxRequestMemoryBytes: part(8),
    maxAnswerMemoryBytes: part(2),
    maxHistoryMemoryBytes: part(8),
    maxReadMemoryBytes: part(4),
    maxUnsentBytes: part(8),
    maxKeptMemoryBytes: part(16),
  };
}

/** Returns the default limit on one answer of a provider, chosen so that a run's answer fits the memory for answers. */
export function getMaxAnswerBytes(
  { maxAnswerMemoryBytes }: Pick<MemoryLimits, "maxAnswerMemoryBytes"> = getMemoryLimits(),
): number {
  return Math.min(Math.floor(maxAnswerMemoryBytes / RUN_ANSWER_WEIGHT), MAX_ANSWER_BYTES);
}

/** Options of an account. */
export interface MemoryAccountOptions {
  readonly limits?: Partial<MemoryLimits> | undefined;
  readonly heapBytes?: number | undefined;
  /** Whether several owners (access keys) share the process. Default: no, so one owner may take everything. */
  readonly isShared?: (() => boolean) | undefined;
}

/**
 * The account of the bytes of a process. Requests, answers, histories, stored reads, unsent responses and the responses
 * that WebSockets keep reserve memory here before they are held. Each use has a limit, all uses together have one, and
 * a part of each limit is kept free for its use, so that none starves another.
 */
export class MemoryAccount implements PoolAccount {
  readonly requests: MemoryPool;
  readonly answers: MemoryPool;
  readonly histories: MemoryPool;
  readonly reads: MemoryPool;
  readonly unsent: MemoryPool;
  readonly kept: MemoryPool;
  readonly maxBytes: number;
  readonly #pools: readonly MemoryPool[];
  readonly #isShared: () => boolean;

  constructor({
    limits,
    heapBytes = getHeapStatistics().heap_size_limit,
    isShared = () => false,
  }: MemoryAccountOptions = {}) {
    const defaults = getMemoryLimits(heapBytes);
    const all = { ...defaults, ...limits };
    this.#isShared = isShared;
    const open = (field: keyof MemoryLimits, limit: string, content: string, guaranteed = GUARANTEED_SHARE) =>
      new MemoryPool(this, {
        limit,
        content,
        maxBytes: all[field],
        guaranteedBytes: Math.floor(all[field] * guaranteed),
      });
    this.requests = open("maxRequestMemoryBytes", "max_request_memory", "requests in progress");
    this.answers = open("maxAnswerMemoryBytes", "max_answer_memory", "answers in progress");
    this.histories = open("maxHistoryMemoryBytes", "max_history_memory", "conversations of runs in progress");
    this.reads = open("maxReadMemoryBytes", "max_read_memory", "stored reads");
    this.unsent = open("maxUnsentBytes", "max_unsent_bytes", "unsent responses");
    this.kept = open("maxKeptMemoryBytes", "max_kept_memory", "responses kept for WebSockets", 0);
    this.#pools = [this.requests, this.answers, this.histories, this.reads, this.unsent, this.kept];
    // An operator who raises a limit provides the memory.
    const guaranteedBytes = this.#pools.reduce((sum, pool) => sum + pool.guaranteedBytes, 0);
    this.maxBytes = Math.max(Math.floor(heapBytes * HEAP_SHARE), guaranteedBytes, ...Object.values(all));
  }

  /** Bytes that all uses have taken together. */
  get usedBytes(): number {
    return this.#pools.reduce((sum, { usedBytes }) => sum + usedBytes, 0);
  }

  /**
   * Reports whether a use can take that many more bytes: within its guarantee, or without touching the guarantees of
   * others.
   */
  fits(taker: MemoryPool, bytes: number): boolean {
    // The oldest share of another pool may have taken more than the guarantees leave.
    if (taker.usedBytes + bytes <= taker.guaranteedBytes) return true;
    let claimed = bytes;
    for (const pool of this.#pools) claimed += pool.getClaimedBytes(pool === taker ? bytes : 0);
    return claimed <= this.maxBytes;
  }

  /** Returns the maximum that one owner may take of a limit. */
  getOwnerLimit(max: number, owner: string): number {
    return owner !== "" && this.#isShared() ? Math.max(1, Math.floor(max * OWNER_SHARE)) : max;
  }

  /** Called when memory has been released: serves waiting shares. */
  wake(): void {
    for (const pool of this.#pools) pool.grant();
  }
}
