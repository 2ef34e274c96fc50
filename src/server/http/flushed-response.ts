/** Limits the bytes of responses that are written but not sent yet, since peers may be slow to read. */
import { yieldTurn } from "../../core/loop-turns.ts";
import type { MemoryAccount } from "../../core/memory-account.ts";
import type { MemoryPool } from "../../core/memory-pool.ts";

/** The peer closed the stream before the response was complete. */
export class PeerClosedError extends Error {
  constructor(options?: ErrorOptions) {
    super("the peer closed the stream", options);
  }
}

/** Larger writes are sent in slices of this many bytes: a peer that reads is recognized by the slices that it takes. */
export const SLICE_BYTES = 64 * 1024;

/**
 * A response with at most one unflushed write, so that a stalled reader holds at most the bytes of one read of the
 * provider's socket.
 */
export abstract class FlushedResponse implements UnsentResponse {
  readonly #unsent: UnsentResponses;
  #onFlush: (() => void) | undefined;

  /** Whether the last write is still unflushed. */
  protected unflushed = false;

  /** Whether its bytes count as unsent. */
  #isCounted = false;

  /** Whether the peer closed the stream before the response was complete. */
  disconnected = false;

  /** @param unsent Limits the unsent bytes of all responses together. */
  constructor(unsent: UnsentResponses) {
    this.#unsent = unsent;
  }

  abstract destroy(): void;

  /** Records that the peer closed the stream before the response was complete. Ends the wait for a flush. */
  disconnect(): void {
    this.disconnected = true;
    this.onFlush();
  }

  /** Resolves when the last write is flushed: flow control has let it pass, and the kernel has it. */
  protected flushed(): Promise<void> {
    if (!this.unflushed || this.disconnected) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onFlush = resolve;
    });
  }

  /**
   * Writes all slices except the last, each after the previous one is flushed. Returns the last slice.
   * @param write Writes a slice, and calls back when it is flushed.
   * @throws PeerClosedError
   */
  protected async writeSlices(
    bytes: Uint8Array,
    write: (slice: Uint8Array, onFlush: () => void) => void,
  ): Promise<Uint8Array> {
    let rest = bytes;
    await this.flushed();
    while (rest.byteLength > SLICE_BYTES) {
      const turn = yieldTurn();
      if (turn !== undefined) await turn;
      if (this.disconnected) throw new PeerClosedError();
      this.beginWrite(rest.byteLength);
      write(rest.subarray(0, SLICE_BYTES), this.onFlush);
      await this.flushed();
      rest = rest.subarray(SLICE_BYTES);
    }
    if (this.disconnected) throw new PeerClosedError();
    return rest;
  }

  /**
   * Begins a write of this many bytes; {@link onFlush} is its callback. The end of a response may follow its last write
   * at once: a counted write stays counted until it is flushed.
   */
  protected beginWrite(bytes: number): void {
    this.unflushed = true;
    if (bytes < MIN_BYTES) return;
    this.#isCounted = true;
    this.#unsent.add(this, bytes);
  }

  /** Called when the last write is flushed, or cannot be flushed. */
  protected readonly onFlush = (): void => {
    this.unflushed = false;
    if (this.#isCounted) this.#unsent.remove(this);
    this.#isCounted = false;
    const resolve = this.#onFlush;
    this.#onFlush = undefined;
    resolve?.();
  };
}

/** A response whose peer may be slow to read. */
export interface UnsentResponse {
  /** Destroys the response: its peer does not read, and others need the memory. */
  destroy(): void;
}

/** Smaller writes are not counted: a call has at most one, and the number of calls is limited. */
const MIN_BYTES = 16 * 1024;

/** A peer has stalled if it has not taken a write, or a slice of a large one, for this many milliseconds. */
const STALLED_MS = 2000;

/** Interval of the checks for stalled responses while too many bytes wait, in milliseconds. */
const CHECK_INTERVAL_MS = 500;

/**
 * Multiple of the limit that may wait while no peer has stalled. Above it, even responses whose peer may be reading are
 * destroyed.
 */
const MAX_EXCESS = 2;

interface Waiting {
  readonly bytes: number;
  /** Time at which the peer last took bytes, in milliseconds of a monotonic clock. */
  readonly since: number;
}

/**
 * Counts the unsent bytes of all responses of the process. Each response has at most one write in progress, so the
 * sizes of these writes are counted. If they exceed the limit, or others wait for memory, responses whose peers have
 * stopped reading are destroyed.
 */
export class UnsentResponses {
  readonly #pool: MemoryPool;
  readonly #now: () => number;
  /** In the order of their last progress, oldest first. */
  readonly #waiting = new Map<UnsentResponse, Waiting>();
  #timer: NodeJS.Timeout | undefined;

  /** @param now Milliseconds of a monotonic clock. */
  constructor(account: MemoryAccount, now: () => number = () => performance.now()) {
    this.#pool = account.unsent;
    this.#now = now;
    for (const pool of [account.answers, account.reads]) pool.onShortage(() => this.#destroyStalled());
  }

  /** Number of waiting bytes, in writes that are counted. */
  get bytes(): number {
    return this.#pool.usedBytes;
  }

  /** Adds a response with unsent bytes, or replaces their number. */
  add(response: UnsentResponse, bytes: number): void {
    this.remove(response);
    if (bytes < MIN_BYTES) return;
    this.#waiting.set(response, { bytes, since: this.#now() });
    this.#pool.change(bytes, "");
    if (this.#isOver()) this.#relieve();
  }

  /** Removes a response whose bytes were sent, or will never be sent. */
  remove(response: UnsentResponse): void {
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting.get(response);
    if (waiting === undefined) return;
    this.#waiting.delete(response);
    this.#pool.change(-waiting.bytes, "");
  }

  #isOver(times = 1): boolean {
    return this.#pool.usedBytes > times * this.#pool.maxBytes;
  }

  #relieve(): void {
    for (const [response, { since }] of this.#waiting) {
      // The last one is kept even if it exceeds the limit: its peer has not had a chance to read it.
      if (!this.#isOver() || this.#waiting.size === 1) break;
      if (this.#now() - since < STALLED_MS && !this.#isOver(MAX_EXCESS)) break;
      this.#end(response);
    }
    clearTimeout(this.#timer);
    if (this.#isOver()) this.#timer = setTimeout(() => this.#relieve(), CHECK_INTERVAL_MS).unref();
  }

  #destroyStalled(): void {
    for (const [response, { since }] of this.#waiting) {
      if (this.#now() - since < STALLED_MS) return;
      this.#end(response);
    }
  }

  #end(response: UnsentResponse): void {
    this.remove(response);
    response.destroy();
  }
}
