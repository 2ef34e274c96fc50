/**
 * The framing of gRPC, gRPC-Web and Connect's streams: a flag and a length before every message (PROTOCOL-HTTP2,
 * Length-Prefixed-Message).
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { MessageEncoder } from "../../../core/message-encoder.ts";
import { ByteSink } from "../../../core/scalar-formats.ts";
import { GrowingBuffer } from "../../requests/growing-buffer.ts";
import { tooLarge } from "../../requests/refusals.ts";
import type { CallMemory } from "../../requests/request-memory.ts";

/** A message on the wire. */
export interface Frame {
  readonly flags: number;
  readonly bytes: Uint8Array;
}

/** The flag of a compressed message. */
export const COMPRESSED = 1;

/** Bytes before each message: one of flags, four of length. */
export const FRAME_HEADER_BYTES = 5;

/** Options of a FrameReader. */
export interface FrameReaderOptions {
  readonly maxMessageBytes: number;
  /** Whether flags that gRPC does not define are an error. Otherwise the reader of the frames handles them. */
  readonly strictFlags: boolean;
  /** Refuses a message that has not arrived yet if there is no memory for its length. */
  readonly share: Pick<CallMemory, "expect">;
}

const NOTHING = Buffer.alloc(0);

/**
 * Splits bytes into frames, independently of the sizes of network reads. Rejects a length over the limit as soon as it
 * is read, before the message is buffered. A message in one read is returned as a view. A message in several reads is
 * copied into a growing buffer, so that many small reads cost no more than their bytes.
 */
export class FrameReader {
  readonly #options: FrameReaderOptions;
  /** Bytes behind the last frame, while no frame is being collected. */
  #rest: Buffer = NOTHING;
  /** The received part of the frame that is being collected, with its header. Undefined if none is. */
  #partial: GrowingBuffer | undefined;
  /** Bytes of that frame. */
  #expected = 0;

  constructor(options: FrameReaderOptions) {
    this.#options = options;
  }

  /** Whether no incomplete frame is buffered. */
  get isEmpty(): boolean {
    return this.#rest.byteLength === 0 && this.#partial === undefined;
  }

  /** Adds the next bytes. Call `next` afterwards until it returns undefined. */
  push(chunk: Buffer): void {
    let rest = chunk;
    const partial = this.#partial;
    if (partial !== undefined) {
      const missing = this.#expected - partial.length;
      partial.append(chunk.subarray(0, missing), this.#expected);
      rest = chunk.subarray(missing);
    }
    this.#rest = this.#rest.byteLength === 0 ? rest : Buffer.concat([this.#rest, rest]);
  }

  /**
   * Returns the next whole frame; undefined while it is not complete.
   * @throws ConnectError INTERNAL for flags that gRPC does not define, RESOURCE_EXHAUSTED for a message over the limit.
   *   Also throws the errors of the share.
   */
  next(): Frame | undefined {
    if (this.#partial !== undefined) {
      if (this.#partial.length < this.#expected) return undefined;
      const bytes = this.#partial.take();
      this.#partial = undefined;
      return { flags: bytes.readUInt8(0), bytes: bytes.subarray(FRAME_HEADER_BYTES) };
    }
    const rest = this.#rest;
    if (rest.byteLength < FRAME_HEADER_BYTES) return undefined;
    const { maxMessageBytes, strictFlags, share } = this.#options;
    const flags = rest.readUInt8(0);
    if (strictFlags && flags > COMPRESSED)
      throw new ConnectError(`a message has the flags ${flags}, expected 0 or 1`, Code.Internal);
    const length = rest.readUInt32BE(1);
    if (length > maxMessageBytes) throw tooLarge(`${length} bytes`, maxMessageBytes);
    const end = FRAME_HEADER_BYTES + length;
    if (rest.byteLength >= end) {
      this.#rest = rest.byteLength === end ? NOTHING : rest.subarray(end);
      return { flags, bytes: rest.subarray(FRAME_HEADER_BYTES, end) };
    }
    share.expect(end - rest.byteLength);
    this.#expected = end;
    this.#rest = NOTHING;
    this.#partial = new GrowingBuffer();
    this.#partial.append(rest, end);
    return undefined;
  }

  /**
   * Must be called after the last bytes, when `next` has returned undefined.
   * @throws ConnectError INVALID_ARGUMENT if the bytes end inside a frame.
   */
  end(): undefined {
    if (this.#rest.byteLength > 0 || this.#partial !== undefined)
      throw new ConnectError("a message was cut off", Code.InvalidArgument);
  }

  /** Discards the buffered bytes. */
  discard(): void {
    this.#rest = NOTHING;
    this.#partial = undefined;
  }
}

/** Writes the header of a frame. */
export function writeFrameHeader(
  buffer: Buffer,
  position: number,
  { compressed, length }: { compressed: boolean; length: number },
): void {
  buffer[position] = compressed ? COMPRESSED : 0;
  buffer.writeUInt32BE(length, position + 1);
}

/** Smallest size in bytes from which a message is compressed. */
const MIN_COMPRESSED_BYTES = 256;

// Shared by all calls: no other code runs between `start` and `take`.
const sink = new ByteSink();

/** Encodes messages as consecutive frames in one chunk. */
export function encodeFrames(encode: MessageEncoder, messages: readonly Message[]): Buffer {
  sink.start();
  for (const message of messages) {
    sink.reserve(FRAME_HEADER_BYTES);
    const offset = sink.length;
    sink.position += FRAME_HEADER_BYTES;
    encode(message, sink);
    const length = sink.length - offset - FRAME_HEADER_BYTES;
    // `encode` may have moved the chunk to a larger buffer.
    const position = sink.position - FRAME_HEADER_BYTES - length;
    sink.buffer[position] = 0;
    sink.buffer.writeUInt32BE(length, position + 1);
  }
  return sink.take();
}

/** Encodes a message as one frame, and compresses it if it is large enough. */
export async function encodeFrame(encode: MessageEncoder, message: Message): Promise<Buffer> {
  const plain = encodeFrames(encode, [message]);
  if (plain.byteLength < MIN_COMPRESSED_BYTES) return plain;
  const compressed = await gzipAsync(plain.subarray(FRAME_HEADER_BYTES));
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + compressed.byteLength);
  writeFrameHeader(frame, 0, { compressed: true, length: compressed.byteLength });
  frame.set(compressed, FRAME_HEADER_BYTES);
  return frame;
}

const gzipAsync = promisify<Uint8Array, Buffer>(gzip);
