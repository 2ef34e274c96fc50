/**
 * Size of a slab, in bytes: holds a hundred events or more, yet costs little memory for a write that waits for a slow
 * reader.
 */
export const SLAB_BYTES = 16 * 1024;

const NOTHING = Buffer.alloc(0);

/**
 * A growing buffer. Chunks are views of a slab, one after the other until it is full; a chunk larger than a slab gets a
 * separate buffer. Bytes that were taken are never overwritten, so they can wait in the queue of a socket. A chunk
 * keeps its slab in memory.
 *
 * A writer calls `reserve`, sets bytes in `buffer` from `position` on, and advances `position`. `reserve` may change
 * both, so only offsets from the beginning of the chunk stay valid, see `length`.
 */
export class ByteSink {
  /** The current target of writes; replaced when it is full. */
  buffer: Buffer = NOTHING;
  /** The next free byte of `buffer`. */
  position = 0;
  #chunkStart = 0;
  /** Length of `buffer`: read for every value, and a field is faster than the length of a typed array. */
  #size = 0;

  /** Bytes that were written since `start`. */
  get length(): number {
    return this.position - this.#chunkStart;
  }

  /** Begins a chunk at `position`. Discards bytes that were written and not taken. */
  start(): void {
    if (this.#size > SLAB_BYTES) this.#replace(NOTHING, 0);
    this.#chunkStart = this.position;
  }

  /** Ends the chunk and begins the next. Returns all bytes that were written since `start`. */
  take(): Buffer {
    const chunk = this.buffer.subarray(this.#chunkStart, this.position);
    this.start();
    return chunk;
  }

  /** Ensures space for `bytes` bytes from `position` on. */
  reserve(bytes: number): void {
    if (this.position + bytes > this.#size) this.#grow(bytes);
  }

  #grow(bytes: number): void {
    const length = this.length;
    const needed = length + bytes;
    // Above the size of a slab some extra space: the lengths at the end of a large message need a few more bytes.
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
