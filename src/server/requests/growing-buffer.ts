const NOTHING = Buffer.alloc(0);

/** Smallest size, in bytes. */
const MIN_BYTES = 16 * 1024;

/**
 * Size of the next buffer, as a multiple of the bytes that have arrived. Outgrown buffers stay in memory until they are
 * collected: with doubling, they take as much as the last one. If the size is announced, more can be reserved at once.
 */
const GROWTH = { announced: 8, unknown: 2 };

/**
 * Collects bytes from several reads in one buffer that grows by a factor: many small reads cost no more than their
 * bytes, and announced bytes that never arrive cost nothing.
 */
export class GrowingBuffer {
  #buffer = NOTHING;
  #length = 0;

  /** Number of collected bytes. */
  get length(): number {
    return this.#length;
  }

  /**
   * Adds bytes.
   * @param announced The number of all bytes, if it is known.
   */
  append(bytes: Uint8Array, announced?: number): void {
    const needed = this.#length + bytes.byteLength;
    if (needed > this.#buffer.byteLength) {
      const factor = announced === undefined ? GROWTH.unknown : GROWTH.announced;
      const size = Math.min(announced ?? Infinity, Math.max(MIN_BYTES, factor * needed));
      this.#grow(Math.max(needed, size));
    }
    this.#buffer.set(bytes, this.#length);
    this.#length = needed;
  }

  /** Returns the collected bytes and empties the buffer. */
  take(): Buffer {
    const taken = this.#buffer.subarray(0, this.#length);
    this.#buffer = NOTHING;
    this.#length = 0;
    return taken;
  }

  #grow(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(bytes);
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
