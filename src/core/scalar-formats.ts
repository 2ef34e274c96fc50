/** Scalars in protobuf's binary format, and the buffer into which they are written. */
import { ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";

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

/** Writes a value. Throws UnusualValue if its type differs from the generated type. */
export type ValueWriter = (value: unknown, sink: ByteSink) => void;

/** The writer of a scalar type, and the wire type of its tag. */
export interface ScalarFormat {
  readonly wireType: WireType;
  readonly write: ValueWriter;
}

/**
 * A value whose type differs from the generated type, or that is out of range. protobuf-es then decides: it accepts
 * some, such as numbers as text, and rejects most.
 */
export class UnusualValue extends Error {}

/** Bytes of the longest tag or length. */
export const MAX_VARINT_BYTES = 5;

const MAX_VARINT64_BYTES = 10;

/** Length in characters up to which a loop is faster than a call into Node. */
const MAX_LOOPED_CHARS = 8;

/** Largest number of UTF-8 bytes for a UTF-16 code unit. */
const MAX_UTF8_BYTES = 3;

/** Returns the number of bytes of a length as a varint. */
export function varintBytes(length: number): number {
  if (length < 0x80) return 1;
  if (length < 0x4000) return 2;
  if (length < 0x20_0000) return 3;
  return length < 0x1000_0000 ? 4 : MAX_VARINT_BYTES;
}

/** Writes an unsigned integer of 32 bits as a varint, into reserved space. */
export function putVarint(value: number, sink: ByteSink): void {
  const { buffer } = sink;
  let { position } = sink;
  let rest = value;
  while (rest > 0x7f) {
    buffer[position++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  buffer[position++] = rest;
  sink.position = position;
}

/** Writes bytes unchanged. */
export function writeRaw(bytes: Uint8Array, sink: ByteSink): void {
  sink.reserve(bytes.length);
  sink.buffer.set(bytes, sink.position);
  sink.position += bytes.length;
}

/** Writes a string and its length. An unpaired surrogate becomes U+FFFD. */
export function writeString(value: unknown, sink: ByteSink): void {
  if (typeof value !== "string") throw new UnusualValue();
  if (value.length <= MAX_LOOPED_CHARS && writeShortAscii(value, sink)) return;
  // Counting is slower than writing, so it is done only if the buffer may be too small.
  const fits = sink.position + MAX_VARINT_BYTES + MAX_UTF8_BYTES * value.length <= sink.buffer.length;
  if (!fits) sink.reserve(MAX_VARINT_BYTES + Buffer.byteLength(value));
  const { buffer, position } = sink;
  // Most text is ASCII, so its length in bytes equals its length in characters.
  const guessed = varintBytes(value.length);
  const start = position + guessed;
  const bytes = buffer.write(value, start);
  const needed = varintBytes(bytes);
  if (needed > guessed) buffer.copyWithin(position + needed, start, start + bytes);
  putVarint(bytes, sink);
  sink.position += bytes;
}

/** Writes a short ASCII string. If any character is not ASCII, writes nothing and returns false. */
function writeShortAscii(value: string, sink: ByteSink): boolean {
  const { length } = value;
  sink.reserve(1 + length);
  const { buffer } = sink;
  let { position } = sink;
  buffer[position++] = length;
  for (let index = 0; index < length; index++) {
    const code = value.charCodeAt(index);
    if (code > 0x7f) return false;
    buffer[position++] = code;
  }
  sink.position = position;
  return true;
}

function writeBytes(value: unknown, sink: ByteSink): void {
  if (!(value instanceof Uint8Array)) throw new UnusualValue();
  sink.reserve(MAX_VARINT_BYTES);
  putVarint(value.length, sink);
  writeRaw(value, sink);
}

/** Writes an integer of 32 bits; a negative one is sign-extended to 64 bits. */
export function writeInt32(value: unknown, sink: ByteSink): void {
  if (typeof value !== "number" || (value | 0) !== value) throw new UnusualValue();
  if (value < 0) return writeVarint64(value, -1, sink);
  sink.reserve(MAX_VARINT_BYTES);
  putVarint(value, sink);
}

function writeVarint64(low: number, high: number, sink: ByteSink): void {
  sink.reserve(MAX_VARINT64_BYTES);
  const { buffer } = sink;
  let { position } = sink;
  let rest = low >>> 0;
  let above = high >>> 0;
  while (above !== 0 || rest > 0x7f) {
    buffer[position++] = (rest & 0x7f) | 0x80;
    rest = ((above << 25) | (rest >>> 7)) >>> 0;
    above >>>= 7;
  }
  buffer[position++] = rest;
  sink.position = position;
}

function varint32(read: (value: unknown) => number): ScalarFormat {
  return {
    wireType: WireType.Varint,
    write(value, sink) {
      const number = read(value);
      sink.reserve(MAX_VARINT_BYTES);
      putVarint(number, sink);
    },
  };
}

function varint64(read: (value: unknown) => bigint): ScalarFormat {
  const words = new DataView(new ArrayBuffer(8));
  return {
    wireType: WireType.Varint,
    write(value, sink) {
      words.setBigInt64(0, read(value), true);
      writeVarint64(words.getInt32(0, true), words.getInt32(4, true), sink);
    },
  };
}

type FixedWriter = (value: unknown, buffer: Buffer, position: number) => void;

function fixed(bytes: 4 | 8, put: FixedWriter): ScalarFormat {
  return {
    wireType: bytes === 4 ? WireType.Bit32 : WireType.Bit64,
    write(value, sink) {
      sink.reserve(bytes);
      put(value, sink.buffer, sink.position);
      sink.position += bytes;
    },
  };
}

function int32(value: unknown): number {
  if (typeof value !== "number" || (value | 0) !== value) throw new UnusualValue();
  return value;
}

function uint32(value: unknown): number {
  if (typeof value !== "number" || value >>> 0 !== value) throw new UnusualValue();
  return value;
}

function zigzag32(value: unknown): number {
  const number = int32(value);
  return ((number << 1) ^ (number >> 31)) >>> 0;
}

function int64(value: unknown): bigint {
  if (typeof value !== "bigint" || BigInt.asIntN(64, value) !== value) throw new UnusualValue();
  return value;
}

function uint64(value: unknown): bigint {
  if (typeof value !== "bigint" || BigInt.asUintN(64, value) !== value) throw new UnusualValue();
  return value;
}

function zigzag64(value: unknown): bigint {
  const number = int64(value);
  return (number << 1n) ^ (number >> 63n);
}

function bool(value: unknown): number {
  if (typeof value !== "boolean") throw new UnusualValue();
  return value ? 1 : 0;
}

function double(value: unknown): number {
  if (typeof value !== "number") throw new UnusualValue();
  return value;
}

function float(value: unknown): number {
  const number = double(value);
  if (Number.isFinite(number) && !Number.isFinite(Math.fround(number))) throw new UnusualValue();
  return number;
}

/** The format of each scalar type, see protobuf.dev/programming-guides/encoding. */
export const scalarFormats: Readonly<Record<ScalarType, ScalarFormat>> = {
  [ScalarType.STRING]: { wireType: WireType.LengthDelimited, write: writeString },
  [ScalarType.BYTES]: { wireType: WireType.LengthDelimited, write: writeBytes },
  [ScalarType.INT32]: { wireType: WireType.Varint, write: writeInt32 },
  [ScalarType.UINT32]: varint32(uint32),
  [ScalarType.SINT32]: varint32(zigzag32),
  [ScalarType.BOOL]: varint32(bool),
  [ScalarType.INT64]: varint64(int64),
  [ScalarType.UINT64]: varint64(uint64),
  [ScalarType.SINT64]: varint64(zigzag64),
  [ScalarType.FIXED32]: fixed(4, (value, buffer, position) => buffer.writeUInt32LE(uint32(value), position)),
  [ScalarType.SFIXED32]: fixed(4, (value, buffer, position) => buffer.writeInt32LE(int32(value), position)),
  [ScalarType.FLOAT]: fixed(4, (value, buffer, position) => buffer.writeFloatLE(float(value), position)),
  [ScalarType.FIXED64]: fixed(8, (value, buffer, at) => buffer.writeBigUInt64LE(uint64(value), at)),
  [ScalarType.SFIXED64]: fixed(8, (value, buffer, at) => buffer.writeBigInt64LE(int64(value), at)),
  [ScalarType.DOUBLE]: fixed(8, (value, buffer, at) => buffer.writeDoubleLE(double(value), at)),
};
