import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import { outOfRequestMemory, overRequestMemory, tooManyCalls } from "./refusals.ts";

/** Limits of what all calls of a process may use together. */
export interface RequestMemoryLimits {
  /** Memory of all requests under way, buffered and decoded. Default: an eighth of the heap, at most 1 GiB. */
  readonly maxRequestMemoryBytes: number;
  /** Calls that are served at once. Default: one for each 256 KiB of the heap. */
  readonly maxCalls: number;
}

/** Memory of one decoded field or value at most: an empty message with its lists and its place in one. Measured. */
const ELEMENT_BYTES = 256;

/** What each call may use without being counted: small calls are limited by their number. */
const FREE_BYTES = 64 * 1024;

/** Ends requests that arrive too slowly, where others need what they hold. */
export interface Reclaim {
  /** Ends those that do not go on; they give back their memory at once. */
  memory(): void;
  /** Ends the one that is waited for longest. Returns whether there was one; its call ends soon. */
  call(): boolean;
}

/** The memory of all requests of a process. A call that does not fit is refused; it does not wait for others to end. */
export class RequestMemory {
  readonly #limits: RequestMemoryLimits;
  readonly #reclaim: Reclaim;
  #calls = 0;
  #usedBytes = 0;

  constructor(limits: RequestMemoryLimits, reclaim: Reclaim) {
    this.#limits = limits;
    this.#reclaim = reclaim;
  }

  /** Calls under way. */
  get calls(): number {
    return this.#calls;
  }

  /** Bytes that are in use. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /**
   * Begins a call.
   * @throws ConnectError RESOURCE_EXHAUSTED, to be retried, where as many are under way as may be.
   */
  begin(): RequestShare {
    const { maxCalls } = this.#limits;
    if (this.#calls >= maxCalls && !this.#reclaim.call()) throw tooManyCalls(maxCalls);
    this.#calls += 1;
    return new RequestShare(this);
  }

  /** Ends a call that uses nothing any more. */
  end(): void {
    this.#calls -= 1;
  }

  /**
   * Changes what a call uses, beyond what is free.
   * @throws ConnectError RESOURCE_EXHAUSTED where there is not that much; the call uses what it did before.
   */
  change(fromBytes: number, toBytes: number): void {
    if (toBytes > fromBytes) this.check(fromBytes, toBytes);
    this.#usedBytes += toBytes - fromBytes;
  }

  /** Throws what `change` would throw. */
  check(fromBytes: number, toBytes: number): void {
    const { maxRequestMemoryBytes: max } = this.#limits;
    if (toBytes > max) throw overRequestMemory(toBytes + FREE_BYTES, max);
    if (this.#usedBytes + toBytes - fromBytes <= max) return;
    this.#reclaim.memory();
    if (this.#usedBytes + toBytes - fromBytes > max) throw outOfRequestMemory(max);
  }
}

/**
 * What one call uses: the bytes of its request as they are buffered, then the decoded message, until the call ends. All
 * that was taken is given back by `release`, on every way out of a call.
 */
export class RequestShare {
  readonly #memory: RequestMemory;
  #bytes = 0;
  #isReleased = false;

  constructor(memory: RequestMemory) {
    this.#memory = memory;
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
    this.#memory.check(countedOf(this.#bytes), countedOf(this.#bytes + bytes));
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
    this.#memory.end();
  }

  #set(bytes: number): void {
    // A late read of a call that has ended keeps nothing.
    if (this.#isReleased) return;
    this.#memory.change(countedOf(this.#bytes), countedOf(bytes));
    this.#bytes = bytes;
  }
}

/** Key under which a transport puts the share of a call into its context values. */
export const requestShareKey = createContextKey<RequestShare | undefined>(undefined, {
  description: "the memory of the call being served",
});

/** The share of the call that a service answers. Undefined where the transport has set none. */
export function requestShareOf({ values }: Pick<HandlerContext, "values">): RequestShare | undefined {
  return values.get(requestShareKey);
}

function countedOf(bytes: number): number {
  return Math.max(0, bytes - FREE_BYTES);
}
