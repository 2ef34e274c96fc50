import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import { CallMemory } from "../../core/call-memory.ts";
import type { MemoryAccount } from "../../core/memory-account.ts";
import { FREE_BYTES, getCountedBytes, type MemoryShare } from "../../core/memory-pool.ts";
import type { HeapLimits } from "../base/memory-limits.ts";
import { toConnectError } from "../status/status.ts";
import { tooManyCalls, tooManyCallsOfOwner } from "./refusals.ts";

/** Memory of one decoded field or value at most: an empty message with its lists and its place in one. Measured. */
const ELEMENT_BYTES = 256;

/** Ends requests that arrive too slowly, where others need what they hold. */
export interface Reclaim {
  /** Ends those that do not go on; they give back their memory at once. */
  memory(): void;
  /** Ends the one that is waited for longest. Returns whether there was one; its call ends soon. */
  call(): boolean;
}

/**
 * The calls of a process and the memory of their requests. A call that does not fit is refused; it does not wait for
 * others to end.
 */
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

  /** Calls under way. */
  get calls(): number {
    return this.#calls;
  }

  /** Bytes that are in use. */
  get usedBytes(): number {
    return this.#account.requests.usedBytes;
  }

  /**
   * Begins a call.
   * @param owner Name of the caller's access key; empty if there is none.
   * @throws ConnectError RESOURCE_EXHAUSTED, to be retried, if as many calls are under way as may be.
   */
  begin(owner = ""): RequestShare {
    const max = this.#maxCalls;
    const ownerMax = this.#account.getOwnerLimit(max, owner);
    const ownerCalls = this.#callsByOwner.get(owner) ?? 0;
    if (ownerMax < max && ownerCalls >= ownerMax) throw tooManyCallsOfOwner(ownerMax);
    if (this.#calls >= max && !this.#reclaim.call()) throw tooManyCalls(max);
    this.#calls += 1;
    if (owner !== "") this.#callsByOwner.set(owner, ownerCalls + 1);
    return new RequestShare(this, owner, this.openMemory(owner));
  }

  /** Memory for what a call holds besides its request. */
  openMemory(owner: string): CallMemory {
    return new CallMemory(this.#account, owner);
  }

  /** Ends a call that uses nothing any more. */
  end(owner: string): void {
    this.#calls -= 1;
    if (owner === "") return;
    const left = (this.#callsByOwner.get(owner) ?? 1) - 1;
    if (left > 0) this.#callsByOwner.set(owner, left);
    else this.#callsByOwner.delete(owner);
  }

  /**
   * Changes what a call uses, beyond what is free.
   * @throws ConnectError RESOURCE_EXHAUSTED if there is not that much; the call uses what it did before.
   */
  change(fromBytes: number, toBytes: number, owner: string): void {
    if (toBytes > fromBytes) this.check(fromBytes, toBytes, owner);
    this.#account.requests.change(toBytes - fromBytes, owner);
  }

  /** Throws what `change` would throw. */
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
 * What one call uses: the bytes of its request as they are buffered, then the decoded message, until the call ends. All
 * that was taken is given back by `release`, on every way out of a call.
 */
export class RequestShare {
  /** What the call holds besides its request. */
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
   * Takes memory for bytes that are about to be kept.
   * @throws ConnectError RESOURCE_EXHAUSTED where there is not that much. Nothing is taken then.
   */
  take(bytes: number): void {
    this.#set(this.#bytes + bytes);
  }

  /** Takes memory for the fields and values of a decoded message. Returns how many bytes that are. */
  takeElements(elements: number): number {
    const bytes = elements * ELEMENT_BYTES;
    this.take(bytes);
    return bytes;
  }

  /** Throws what `take` would throw: for a size that is announced. */
  expect(bytes: number): void {
    this.#requests.check(getCountedBytes(this.#bytes), getCountedBytes(this.#bytes + bytes), this.#owner);
  }

  /** Gives back some of what was taken. */
  give(bytes: number): void {
    this.#set(this.#bytes - bytes);
  }

  /** Gives back everything: the call has ended. Can be called again. */
  release(): void {
    if (this.#isReleased) return;
    this.#set(0);
    this.#isReleased = true;
    this.memory.end();
    this.#requests.end(this.#owner);
  }

  #set(bytes: number): void {
    // A late read of a call that has ended keeps nothing.
    if (this.#isReleased) return;
    this.#requests.change(getCountedBytes(this.#bytes), getCountedBytes(bytes), this.#owner);
    this.#bytes = bytes;
  }
}

/** Key under which a transport puts the share of a call into its context values. */
export const requestShareKey = createContextKey<RequestShare | undefined>(undefined, {
  description: "the memory of the call being served",
});

/** Memory for the answers of the call that a service answers. Undefined if the transport has set none. */
export function answerMemory(context: Pick<HandlerContext, "values">): MemoryShare | undefined {
  return getRequestShare(context)?.memory.answers;
}

/** The share of the call that a service answers. Undefined where the transport has set none. */
export function getRequestShare({ values }: Pick<HandlerContext, "values">): RequestShare | undefined {
  return values.get(requestShareKey);
}
