/** Size of a slab, in bytes: some hundred events, and not much to hold for one that waits for a slow reader. */
export const SLAB_BYTES = 16 * 1024;

const NOTHING = Buffer.alloc(0);

/**
 * A place for bytes that grows. Chunks are views on a slab, one after the other until it is full;
 * a chunk larger than a slab gets a buffer of its own. Bytes that were handed out are never
 * written again, so that they can wait in a socket's queue; what holds a chunk holds its slab.
 *
 * Who writes calls `reserve`, sets bytes in `buffer` from `position` on, and advances `position`.
 * Both `buffer` and `position` may be others after `reserve`: only distances from the beginning
 * of the chunk last, see `length`.
 */
export class ByteSink {
  /** Where bytes are written now; replaced when it is full. */
  buffer: Buffer = NOTHING;
  /** The next free byte of `buffer`. */
  position = 0;
  #chunkStart = 0;
  /** Of `buffer`: asked for with every value, a field is faster than a typed array's length. */
  #size = 0;

  /** Bytes that were written since `start`. */
  get length(): number {
    return this.position - this.#chunkStart;
  }

  /** Begins a chunk at `position`. What was written and not taken is given up. */
  start(): void {
    if (this.#size > SLAB_BYTES) this.#replace(NOTHING, 0);
    this.#chunkStart = this.position;
  }

  /** Ends the chunk, and begins the next: all that was written since `start`. */
  take(): Buffer {
    const chunk = this.buffer.subarray(this.#chunkStart, this.position);
    this.start();
    return chunk;
  }

  /** Makes room for that many bytes from `position` on. */
  reserve(bytes: number): void {
    if (this.position + bytes > this.#size) this.#grow(bytes);
  }

  #grow(bytes: number): void {
    const length = this.length;
    const needed = length + bytes;
    // Beyond a slab some room more: what closes a large message takes a few bytes for its lengths.
    const size = needed <= SLAB_BYTES ? SLAB_BYTES : Math.max(needed + SLAB_BYTES, 2 * this.#size);
    const buffer = Buffer.allocUnsafeSlow(size);
    this.buffer.copy(buffer, 0, this.#chunkStart, this.position);
    this.#replace(buffer, length);
    this.#chunkStart = 0;
  }

  #replace(buffer: Buffer, position: number): void {
    this.buffer = buffer;
    this.#size = buffer.length;
    this.position = position;
  }
}
