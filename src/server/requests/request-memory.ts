import {
  ANSWER_WEIGHT,
  type MemoryAccount,
  READ_WEIGHT,
  RUN_ANSWER_WEIGHT,
} from "../../core/memory-account.ts";
import { FREE_BYTES, getCountedBytes, type MemoryShare } from "../../core/memory-pool.ts";
import type { HeapLimits } from "../base/limits.ts";
import { toConnectError } from "../status/status.ts";
import { tooManyCalls, tooManyOwnerCalls } from "./refusals.ts";

/**
 * Largest memory of one decoded field or value: an empty message with its lists and its place in another message.
 * Measured.
 */
const ELEMENT_BYTES = 256;

/** Ends requests that arrive too slowly, if others need their memory or their place. */
export interface Reclaim {
  /** Ends stalled requests, which release their memory at once. */
  memory(): void;
  /** Ends the request with the longest wait. Returns whether there was one; its call ends soon. */
  call(): boolean;
}

/** The calls of a process and the memory of their requests. A call that does not fit is refused instead of queued. */
export class RequestMemory {
  readonly #maxCalls: number;
  readonly #account: MemoryAccount;
  readonly #reclaim: Reclaim;
  readonly #callsByOwner = new Map<string, number>();
  #calls = 0;

  constructor({ maxCalls }: Pick<HeapLimits, "maxCalls">, account: MemoryAccount, reclaim: Reclaim) {
    this.#maxCalls = maxCalls;
    this.#account = account;
    this.#reclaim = reclaim;
  }

  /** Calls in progress. */
  get calls(): number {
    return this.#calls;
  }

  /** Bytes in use. */
  get usedBytes(): number {
    return this.#account.requests.usedBytes;
  }

  /**
   * Begins a call.
   * @param owner Name of the caller's access key; empty if there is none.
   * @param headerFields Number of header fields, which the call holds to its end.
   * @throws ConnectError RESOURCE_EXHAUSTED, which can be retried, if too many calls are in progress or there is not
   *   enough memory.
   */
  begin(owner = "", headerFields = 0): CallMemory {
    if (owner !== "") this.#checkOwner(owner);
    if (this.#calls >= this.#maxCalls && !this.#reclaim.call()) throw tooManyCalls(this.#maxCalls);
    this.#calls += 1;
    if (owner !== "") this.#callsByOwner.set(owner, (this.#callsByOwner.get(owner) ?? 0) + 1);
    const memory = new CallMemory(this, this.#account, owner, true);
    try {
      memory.takeElements(headerFields);
    } catch (error) {
      memory.release();
      throw error;
    }
    return memory;
  }

  #checkOwner(owner: string): void {
    const max = this.#account.getOwnerLimit(this.#maxCalls, owner);
    const calls = this.#callsByOwner.get(owner) ?? 0;
    if (max < this.#maxCalls && calls >= max) throw tooManyOwnerCalls(max);
  }

  /** Opens the memory of something that does not count as a call: a message of a WebSocket. */
  openMemory(owner: string): CallMemory {
    return new CallMemory(this, this.#account, owner, false);
  }

  /** Ends a call that has released all its memory. */
  end(owner: string): void {
    this.#calls -= 1;
    if (owner === "") return;
    const left = (this.#callsByOwner.get(owner) ?? 1) - 1;
    if (left > 0) this.#callsByOwner.set(owner, left);
    else this.#callsByOwner.delete(owner);
  }

  /**
   * Changes the memory of a call.
   * @throws ConnectError RESOURCE_EXHAUSTED if there is not enough; the memory of the call is unchanged then.
   */
  change(fromBytes: number, toBytes: number, owner: string): void {
    if (toBytes > fromBytes) this.check(fromBytes, toBytes, owner);
    this.#account.requests.change(toBytes - fromBytes, owner);
  }

  /** Throws the error that `change` would throw. */
  check(fromBytes: number, toBytes: number, owner: string): void {
    const { requests } = this.#account;
    if (toBytes > requests.maxBytes)
      throw toConnectError(requests.createExcess("the request", toBytes + FREE_BYTES));
    if (requests.fits(toBytes - fromBytes, owner)) return;
    this.#reclaim.memory();
    if (!requests.fits(toBytes - fromBytes, owner)) throw toConnectError(requests.createRefusal());
  }
}

/**
 * The memory of one call: the bytes of its request while they are buffered, then the decoded message, and everything
 * else that the call needs. `release` returns everything that was taken, however a call ends.
 */
export class CallMemory {
  readonly #requests: RequestMemory;
  readonly #account: MemoryAccount;
  readonly #owner: string;
  readonly #isCall: boolean;
  /** Bytes of the request. */
  #bytes = 0;
  /** Opened on first use. */
  #answers: MemoryShare | undefined;
  #runAnswers: MemoryShare | undefined;
  #reads: MemoryShare | undefined;
  #isReleased = false;

  /**
   * @param owner Name of the caller's access key; empty if there is none.
   * @param isCall Whether its end is the end of a call.
   */
  constructor(requests: RequestMemory, account: MemoryAccount, owner: string, isCall: boolean) {
    this.#requests = requests;
    this.#account = account;
    this.#owner = owner;
    this.#isCall = isCall;
  }

  /** The answers of the providers that the call reaches. */
  get answers(): MemoryShare {
    this.#answers ??= this.#account.answers.open(this.#owner, ANSWER_WEIGHT);
    // A share that is opened after the end takes nothing.
    if (this.#isReleased) this.#answers.end();
    return this.#answers;
  }

  /** The same for a call that starts a run. */
  get runAnswers(): MemoryShare {
    this.#runAnswers ??= this.#account.answers.open(this.#owner, RUN_ANSWER_WEIGHT);
    if (this.#isReleased) this.#runAnswers.end();
    return this.#runAnswers;
  }

  /** The data that the call reads from the store of runs. */
  get reads(): MemoryShare {
    this.#reads ??= this.#account.reads.open(this.#owner, READ_WEIGHT);
    if (this.#isReleased) this.#reads.end();
    return this.#reads;
  }

  /** Keeps only the bytes of the encoded response: nothing else of the call is left in memory. */
  shrink(bytes: number): void {
    this.#answers?.shrink(bytes);
    this.#runAnswers?.shrink(bytes);
    this.#reads?.shrink(bytes);
  }

  /**
   * Takes memory for bytes of the request that are about to be stored.
   * @throws ConnectError RESOURCE_EXHAUSTED if there is not enough. Nothing is taken then.
   */
  take(bytes: number): void {
    this.#set(this.#bytes + bytes);
  }

  /** Takes memory for header fields, or the fields and values of a decoded message. Returns the number of bytes. */
  takeElements(elements: number): number {
    const bytes = elements * ELEMENT_BYTES;
    this.#set(this.#bytes + bytes);
    return bytes;
  }

  /** Throws the error that `take` would throw, for an announced size. */
  expect(bytes: number): void {
    const needed = this.#bytes + bytes;
    if (needed <= FREE_BYTES) return;
    this.#requests.check(getCountedBytes(this.#bytes), getCountedBytes(needed), this.#owner);
  }

  /** Gives back a part of the memory of the request. */
  give(bytes: number): void {
    this.#set(this.#bytes - bytes);
  }

  /** Gives back everything when the response has been sent. Can be called again. */
  release(): void {
    if (this.#isReleased) return;
    this.#set(0);
    this.#isReleased = true;
    this.#answers?.end();
    this.#runAnswers?.end();
    this.#reads?.end();
    if (this.#isCall) this.#requests.end(this.#owner);
  }

  #set(bytes: number): void {
    // A late read of an ended call keeps nothing.
    if (this.#isReleased) return;
    // Most requests are so small that nothing is counted.
    if (bytes > FREE_BYTES || this.#bytes > FREE_BYTES)
      this.#requests.change(getCountedBytes(this.#bytes), getCountedBytes(bytes), this.#owner);
    this.#bytes = bytes;
  }
}
