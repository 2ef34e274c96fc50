const NOTHING = Buffer.alloc(0);

/** Smallest size, in bytes. */
const MIN_BYTES = 16 * 1024;

/**
 * Collects bytes from several reads in one buffer that doubles: many small reads cost no more than their bytes, and
 * announced bytes that never arrive cost nothing.
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
   * @param maxLength Largest size of the buffer, if it is known.
   */
  append(bytes: Uint8Array, maxLength: number = Number.POSITIVE_INFINITY): void {
    const needed = this.#length + bytes.byteLength;
    if (needed > this.#buffer.byteLength) this.#grow(Math.min(maxLength, Math.max(MIN_BYTES, 2 * needed)));
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
