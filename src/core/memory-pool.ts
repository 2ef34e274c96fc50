import { setImmediate as yieldToOthers } from "node:timers/promises";
import { AbortError, RateLimitError, SDKError } from "./errors.ts";
import { yieldTurnAfter } from "./loop-turns.ts";

/** The account that a pool belongs to, as the pool needs it. */
export interface PoolAccount {
  /** Reports whether a pool can take that many more bytes: within its guarantee, or without touching others'. */
  fits(taker: MemoryPool, bytes: number): boolean;
  /** Returns the maximum that one owner may take of a limit. */
  getOwnerLimit(max: number, owner: string): number;
  /** Called when memory has been released. */
  wake(): void;
}

/** Options of a pool, which is one limit of the account. */
export interface MemoryPoolOptions {
  /** Name of the limit in the configuration: `max_answer_memory`. */
  readonly limit: string;
  /** Content of the pool, for errors: `answers in progress`. */
  readonly content: string;
  readonly maxBytes: number;
  /** The part of the limit that other pools leave free. */
  readonly guaranteedBytes: number;
}

/** Bytes that each share may hold without being counted: small calls are limited by their number. */
export const FREE_BYTES = 64 * 1024;

/** Minimum that a read reserves before its size is known. */
const MIN_EXPECTED_BYTES = 256 * 1024;

/**
 * Factor for the estimate after a read of a smaller value, so that the estimate falls only after several small reads.
 */
const ESTIMATE_DECAY = 0.9;

/**
 * A read alone may take this multiple of the limit: the value was stored with more memory, or as the largest request.
 */
const MAX_READ_EXCESS = 2;

/** Longest wait for memory, in milliseconds. Then the call is refused, since most callers would give up soon. */
const MAX_WAIT_MS = 15_000;

/** How often pools with waiting shares ask to get memory back from peers that do not read, in milliseconds. */
const RECLAIM_INTERVAL_MS = 500;

/** Seconds after which a refused caller should retry: most calls end sooner or free some memory by then. */
const RETRY_AFTER_SECONDS = 1;

/** One use of memory: a part of the account with a separate limit. */
export class MemoryPool {
  readonly maxBytes: number;
  readonly guaranteedBytes: number;
  readonly #account: PoolAccount;
  readonly #options: MemoryPoolOptions;
  readonly #bytesByOwner = new Map<string, number>();
  /** Shares that hold bytes and may need more, oldest first. */
  readonly #holders = new Set<MemoryShare>();
  /** The oldest shares first: they hold most, and give it back once they get the rest of what they need. */
  readonly #waiting: Waiter[] = [];
  readonly #reclaims: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #usedBytes = 0;
  #opened = 0;
  #expectedBytes = MIN_EXPECTED_BYTES;

  constructor(account: PoolAccount, options: MemoryPoolOptions) {
    this.#account = account;
    this.#options = options;
    this.maxBytes = options.maxBytes;
    this.guaranteedBytes = options.guaranteedBytes;
  }

  /** Bytes that are taken. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** The size that the next read will probably have, judged by the last ones. */
  get expectedBytes(): number {
    return Math.min(this.#expectedBytes, this.maxBytes / 2);
  }

  /** Notes how much a read took. */
  noteRead(bytes: number): void {
    this.#expectedBytes = Math.max(MIN_EXPECTED_BYTES, bytes, this.#expectedBytes * ESTIMATE_DECAY);
  }

  /** Number of shares that wait for memory. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Opens a share that holds nothing yet.
   * @param owner Name of the access key; empty if there is none.
   * @param weight Number of copies in memory of each byte that the share holds.
   */
  open(owner: string, weight = 1): MemoryShare {
    this.#opened += 1;
    return new MemoryShare(this, { owner, weight, age: this.#opened });
  }

  /** Calls `reclaim` while a share waits for memory, to get some back from peers that do not read. */
  onShortage(reclaim: () => void): void {
    this.#reclaims.push(reclaim);
  }

  /** Returns the bytes that the other pools must leave to this one, less the bytes that the taker itself requests. */
  getClaimedBytes(takenBytes: number): number {
    return Math.max(this.#usedBytes, this.guaranteedBytes - takenBytes);
  }

  /** Reports whether an owner can take that many more bytes. */
  fits(bytes: number, owner: string): boolean {
    const isFull = this.#usedBytes + bytes > this.maxBytes || !this.#account.fits(this, bytes);
    return !isFull && !this.isOwnerFull(bytes, owner);
  }

  /** Reports whether that many more bytes exceed an owner's share. */
  isOwnerFull(bytes: number, owner: string): boolean {
    const limit = this.#account.getOwnerLimit(this.maxBytes, owner);
    return limit < this.maxBytes && (this.#bytesByOwner.get(owner) ?? 0) + bytes > limit;
  }

  /** Changes the bytes that an owner has taken, without a check. */
  change(bytes: number, owner: string): void {
    this.#usedBytes += bytes;
    if (owner !== "") this.#changeOwner(bytes, owner);
    if (bytes < 0) this.#account.wake();
  }

  /** Notes whether a share now holds memory that may grow. */
  note(share: MemoryShare): void {
    if (share.countedBytes > 0 && share.isGrowing) this.#holders.add(share);
    else this.#holders.delete(share);
  }

  /**
   * Reports whether a share can take that many more bytes. The share that has held memory longest may take all that the
   * rest of the account leaves: one call must be able to finish, or all would wait for each other.
   */
  admits(share: MemoryShare, bytes: number): boolean {
    if (this.isOldest(share)) return this.#usedBytes + bytes <= this.maxBytes;
    return this.#usedBytes + bytes <= this.maxBytes / 2 && this.fits(bytes, share.owner);
  }

  /** Reports whether no other share has held memory for longer. */
  isOldest(share: MemoryShare): boolean {
    const oldest = this.#oldestHolder;
    return oldest === undefined || oldest === share;
  }

  /** Waits until a share can take that many more bytes, and takes them. */
  wait(share: MemoryShare, bytes: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        share,
        bytes,
        resolve: end(resolve),
        reject: (error) => end(() => reject(error))(),
      };
      const onAbort = () => waiter.reject(toAbortError(signal));
      const timer = setTimeout(() => waiter.reject(this.createRefusal()), MAX_WAIT_MS).unref();
      const waiting = this.#waiting;
      function end(settle: () => void): () => void {
        return () => {
          const index = waiting.indexOf(waiter);
          if (index < 0) return;
          waiting.splice(index, 1);
          clearTimeout(timer);
          signal?.removeEventListener("abort", onAbort);
          settle();
        };
      }
      waiting.splice(waiting.findLastIndex((other) => other.share.age < share.age) + 1, 0, waiter);
      signal?.addEventListener("abort", onAbort, { once: true });
      if (signal?.aborted) return onAbort();
      this.#timer ??= setInterval(() => this.#reclaim(), RECLAIM_INTERVAL_MS).unref();
    });
  }

  /** Ends the waits of a share that needs no more memory. */
  abandon(share: MemoryShare): void {
    if (this.#waiting.length === 0) return;
    for (const waiter of [...this.#waiting]) {
      if (waiter.share === share) waiter.reject(new AbortError("the call has ended"));
    }
  }

  /** Gives waiting shares what now fits, the oldest holder first. */
  grant(): void {
    if (this.#waiting.length === 0) return;
    const oldest = this.#findWaiter(this.#oldestHolder);
    if (oldest !== undefined) this.#grantTo(oldest);
    for (const waiter of [...this.#waiting]) {
      const { share, bytes } = waiter;
      if (!this.#grantTo(waiter) && !this.isOwnerFull(share.getMore(bytes), share.owner)) return;
    }
  }

  #grantTo({ share, bytes, resolve }: Waiter): boolean {
    if (!this.admits(share, share.getMore(bytes))) return false;
    share.force(bytes);
    resolve();
    return true;
  }

  get #oldestHolder(): MemoryShare | undefined {
    const [oldest] = this.#holders;
    return oldest;
  }

  #findWaiter(share: MemoryShare | undefined): Waiter | undefined {
    return this.#waiting.find((waiter) => waiter.share === share);
  }

  /** Creates the error of a call that can have memory once others have ended. */
  createRefusal(): SDKError {
    const { content, limit } = this.#options;
    const message = `the ${content} use all of their ${this.maxBytes} bytes (limits.${limit})`;
    return new RateLimitError(message, { retryable: true, retryAfter: RETRY_AFTER_SECONDS });
  }

  /** Creates the error of something that never fits. @param subject `the request`. */
  createExcess(subject: string, bytes: number): SDKError {
    const { limit } = this.#options;
    const needs = `${subject} needs ${Math.ceil(bytes)} bytes of memory, expected at most ${this.maxBytes}`;
    return new RateLimitError(`${needs} (limits.${limit})`, { retryable: false });
  }

  #changeOwner(bytes: number, owner: string): void {
    const now = (this.#bytesByOwner.get(owner) ?? 0) + bytes;
    if (now > 0) this.#bytesByOwner.set(owner, now);
    else this.#bytesByOwner.delete(owner);
  }

  #reclaim(): void {
    if (this.#waiting.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const reclaim of this.#reclaims) reclaim();
    this.grant();
    // The oldest share cannot continue although it may. The youngest holder that waits gives way.
    const youngest = this.#waiting.findLast(({ share }) => this.#holders.has(share) && !this.isOldest(share));
    if (this.#findWaiter(this.#oldestHolder) !== undefined) youngest?.reject(this.createRefusal());
  }
}

interface Waiter {
  readonly share: MemoryShare;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: SDKError) => void;
}

/** The memory that one call, run or socket holds of a pool, beyond the free bytes of each share. */
export class MemoryShare {
  readonly owner: string;
  /** Number of copies in memory of each byte that the share holds. */
  readonly weight: number;
  /** Older shares have lower numbers. */
  readonly age: number;
  readonly #pool: MemoryPool;
  #bytes = 0;
  #isGrowing = true;
  /** Whether the pool may count the share, or has made it wait. */
  #isKnownToPool = false;
  #hasEnded = false;

  constructor(
    pool: MemoryPool,
    { owner, weight, age }: { readonly owner: string; readonly weight: number; readonly age: number },
  ) {
    this.#pool = pool;
    this.weight = weight;
    this.owner = owner;
    this.age = age;
  }

  /** Bytes that the share holds. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the share may need more. */
  get isGrowing(): boolean {
    return this.#isGrowing;
  }

  /** Bytes that count against the limit. */
  get countedBytes(): number {
    return getCountedBytes(this.weight * this.#bytes);
  }

  /**
   * Takes memory. Returns a promise only if it has to wait.
   * @throws RateLimitError, at once if it never fits, later if no memory was released for a long time. SDKError of the
   *   signal.
   */
  reserve(bytes: number, signal?: AbortSignal): Promise<void> | undefined {
    if (this.#hasEnded) return undefined;
    const needed = this.weight * (this.#bytes + bytes);
    if (needed <= FREE_BYTES) {
      // Most answers are so small.
      this.#bytes += bytes;
      return undefined;
    }
    const counted = getCountedBytes(needed);
    const more = counted - this.countedBytes;
    if (
      more <= 0 ||
      ((this.#pool.waiting === 0 || this.#pool.isOldest(this)) && this.#pool.admits(this, more))
    )
      return this.force(bytes);
    if (counted > this.#pool.maxBytes) throw this.#pool.createExcess("the call", counted);
    this.#isKnownToPool = true;
    return this.#pool.wait(this, bytes, signal);
  }

  /**
   * Reads a value whose size is known only afterwards. The size of recent reads is reserved first, so that only few
   * large values are read at once; then the share takes the actual size.
   * @throws RateLimitError as `reserve`, and the errors of the read.
   */
  async read<Value>(read: () => Promise<Value>, signal?: AbortSignal): Promise<Value> {
    const expected = this.#pool.expectedBytes / this.weight;
    const waiting = this.reserve(expected, signal);
    if (waiting !== undefined) await waiting;
    // Reading and writing a large value takes a while. Others get their turns first.
    if (waiting !== undefined || expected * this.weight > MIN_EXPECTED_BYTES) await yieldToOthers();
    let bytes = 0;
    try {
      const value = await read();
      bytes = measureMemory(value);
      const needed = this.weight * bytes;
      this.#pool.noteRead(needed);
      if (needed > MAX_READ_EXCESS * this.#pool.maxBytes)
        throw this.#pool.createExcess("what is stored", needed);
      const turn = yieldTurnAfter(bytes);
      if (turn !== undefined) await turn;
      return value;
    } finally {
      // A value larger than the limit is read alone.
      const counted = Math.min(bytes, this.#pool.maxBytes / this.weight);
      this.#set(Math.max(0, this.#bytes - expected) + counted);
    }
  }

  /** Returns how many more bytes would count against the limit. */
  getMore(bytes: number): number {
    return getCountedBytes(this.weight * (this.#bytes + bytes)) - this.countedBytes;
  }

  /** Takes memory without a check, for bytes that are held already. */
  force(bytes: number): undefined {
    this.#set(this.#bytes + bytes);
  }

  /** Releases all but this number of bytes, which exist once and only wait for their reader. */
  shrink(bytes: number): void {
    this.#isGrowing = false;
    this.#set(Math.min(this.#bytes, bytes / this.weight));
  }

  /** Gives some memory back. */
  give(bytes: number): void {
    this.#set(Math.max(0, this.#bytes - bytes));
  }

  /** Gives everything back, for good: a late reservation takes nothing. */
  end(): void {
    if (this.#isKnownToPool) {
      this.#pool.abandon(this);
      this.#set(0);
    }
    this.#bytes = 0;
    this.#hasEnded = true;
  }

  #set(bytes: number): void {
    if (this.#hasEnded) return;
    const before = this.countedBytes;
    this.#bytes = bytes;
    const counted = this.countedBytes;
    // Most shares are so small that the pool never counts them.
    if (before === 0 && counted === 0) return;
    this.#isKnownToPool = true;
    this.#pool.note(this);
    this.#pool.change(counted - before, this.owner);
  }
}

/** Returns the bytes of a share that count against the limit. */
export function getCountedBytes(bytes: number): number {
  return Math.max(0, bytes - FREE_BYTES);
}

/** Approximate memory of an object or a list without its texts, in bytes. */
const ELEMENT_BYTES = 64;

/** Estimates the bytes that a message takes: its texts and media, and a constant for each element. */
export function measureMemory(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== "object" || value === null) return 0;
  let bytes = ELEMENT_BYTES;
  for (const member of Object.values(value)) bytes += measureMemory(member);
  return bytes;
}

function toAbortError(signal: AbortSignal | undefined): SDKError {
  const reason: unknown = signal?.reason;
  return reason instanceof SDKError ? reason : new AbortError("the call was cancelled", { cause: reason });
}
