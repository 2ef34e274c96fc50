import { yieldTurn } from "../../core/loop-turns.ts";
import { PeerClosedError } from "./peer-closed-error.ts";
import type { UnsentResponse, UnsentResponses } from "./unsent-responses.ts";

/** Larger writes are sent in slices of this many bytes: a peer that reads is recognized by the slices that it takes. */
export const SLICE_BYTES = 64 * 1024;

/**
 * A response with at most one unflushed write, so that a reader that stops reading costs the bytes of one read of the
 * provider's socket.
 */
export abstract class FlushedResponse implements UnsentResponse {
  readonly #unsent: UnsentResponses;
  #onFlush: (() => void) | undefined;

  /** Whether the last write is still unflushed. */
  protected unflushed = false;

  /** Whether the peer closed the stream before the response was complete. */
  disconnected = false;

  /** @param unsent Limits the unsent bytes of all responses together. */
  constructor(unsent: UnsentResponses) {
    this.#unsent = unsent;
  }

  abstract cutOff(): void;

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

  /** Begins a write of this many bytes; {@link onFlush} is its callback. */
  protected beginWrite(bytes: number): void {
    this.unflushed = true;
    this.#unsent.add(this, bytes);
  }

  /** Called when the last write is flushed, or never will be. */
  protected readonly onFlush = (): void => {
    this.unflushed = false;
    this.#unsent.remove(this);
    const resolve = this.#onFlush;
    this.#onFlush = undefined;
    resolve?.();
  };
}
