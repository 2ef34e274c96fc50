import type { MemoryAccount } from "../../core/memory-account.ts";
import { FREE_BYTES, getCountedBytes, type MemoryShare } from "../../core/memory-pool.ts";
import type { HeapLimits } from "../base/limits.ts";
import { toConnectError } from "../status/status.ts";
import { tooManyCalls, tooManyCallsOfOwner } from "./refusals.ts";

/**
 * Largest memory of one decoded field or value: an empty message with its lists and its place in another message.
 * Measured.
 */
const ELEMENT_BYTES = 256;

/** Ends requests that arrive too slowly, if others need their memory or their place. */
export interface Reclaim {
  /** Ends stalled requests; they give back their memory at once. */
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
   * @throws ConnectError RESOURCE_EXHAUSTED, which can be retried, if too many calls are in progress.
   */
  begin(owner = ""): RequestShare {
    const max = this.#maxCalls;
    const ownerMax = this.#account.getOwnerLimit(max, owner);
    const ownerCalls = this.#callsByOwner.get(owner) ?? 0;
    if (ownerMax < max && ownerCalls >= ownerMax) throw tooManyCallsOfOwner(ownerMax);
    if (this.#calls >= max && !this.#reclaim.call()) throw tooManyCalls(max);
    this.#calls += 1;
    if (owner !== "") this.#callsByOwner.set(owner, ownerCalls + 1);
    return new RequestShare(this, owner, new CallMemory(this.#account, owner));
  }

  /** Opens an account for memory that a call uses besides its request. */
  openMemory(owner: string): CallMemory {
    return new CallMemory(this.#account, owner);
  }

  /** Ends a call that has given back all its memory. */
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
 * The memory of one call: the bytes of its request while they are buffered, then the decoded message, until the call
 * ends. `release` gives back everything that was taken, on every way out of a call.
 */
export class RequestShare {
  /** The memory of the call besides its request. */
  readonly memory: CallMemory;
  readonly #requests: RequestMemory;
  readonly #owner: string;
  #bytes = 0;
  #isReleased = false;

  constructor(requests: RequestMemory, owner: string, memory: CallMemory) {
    this.#requests = requests;
    this.#owner = owner;
    this.memory = memory;
  }

  /**
   * Takes memory for bytes that are about to be stored.
   * @throws ConnectError RESOURCE_EXHAUSTED if there is not enough. Nothing is taken then.
   */
  take(bytes: number): void {
    this.#set(this.#bytes + bytes);
  }

  /** Takes memory for the fields and values of a decoded message. Returns the number of bytes. */
  takeElements(elements: number): number {
    const bytes = elements * ELEMENT_BYTES;
    this.take(bytes);
    return bytes;
  }

  /** Throws the error that `take` would throw, for an announced size. */
  expect(bytes: number): void {
    this.#requests.check(getCountedBytes(this.#bytes), getCountedBytes(this.#bytes + bytes), this.#owner);
  }

  /** Gives back a part of the taken memory. */
  give(bytes: number): void {
    this.#set(this.#bytes - bytes);
  }

  /** Gives back everything when the call has ended. Can be called again. */
  release(): void {
    if (this.#isReleased) return;
    this.#set(0);
    this.#isReleased = true;
    this.memory.end();
    this.#requests.end(this.#owner);
  }

  #set(bytes: number): void {
    // A late read of an ended call keeps nothing.
    if (this.#isReleased) return;
    const before = getCountedBytes(this.#bytes);
    const counted = getCountedBytes(bytes);
    // Most requests are so small that nothing is counted.
    if (counted !== before) this.#requests.change(before, counted, this.#owner);
    this.#bytes = bytes;
  }
}

/** The memory that one call takes from the account, apart from its request. */
export class CallMemory {
  readonly #account: MemoryAccount;
  readonly #owner: string;
  /** Opened on first use. */
  #answers: MemoryShare | undefined;
  #runAnswers: MemoryShare | undefined;
  #reads: MemoryShare | undefined;
  #hasEnded = false;

  /** @param owner Name of the caller's access key; empty if there is none. */
  constructor(account: MemoryAccount, owner: string) {
    this.#account = account;
    this.#owner = owner;
  }

  /** The answers of the providers that the call reaches. */
  get answers(): MemoryShare {
    this.#answers ??= this.#open(this.#account.openAnswers(this.#owner, false));
    return this.#answers;
  }

  /** The same for a call that starts a run. */
  get runAnswers(): MemoryShare {
    this.#runAnswers ??= this.#open(this.#account.openAnswers(this.#owner, true));
    return this.#runAnswers;
  }

  /** The data that the call reads from the store of runs. */
  get reads(): MemoryShare {
    this.#reads ??= this.#open(this.#account.openReads(this.#owner));
    return this.#reads;
  }

  /** Keeps only the bytes of the encoded response: nothing else of the call is left in memory. */
  shrink(bytes: number): void {
    this.#answers?.shrink(bytes);
    this.#runAnswers?.shrink(bytes);
    this.#reads?.shrink(bytes);
  }

  /** Gives everything back after the response of the call was sent. */
  end(): void {
    this.#hasEnded = true;
    this.#answers?.end();
    this.#runAnswers?.end();
    this.#reads?.end();
  }

  /** A share that is opened after the end takes nothing. */
  #open(share: MemoryShare): MemoryShare {
    if (this.#hasEnded) share.end();
    return share;
  }
}
