/**
 * The framing of gRPC, gRPC-Web and Connect's streams: a flag and a length before every message (PROTOCOL-HTTP2,
 * Length-Prefixed-Message).
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { GrowingBuffer } from "../../requests/growing-buffer.ts";
import { tooLarge } from "../../requests/refusals.ts";

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
  /** Called with the length of a message that has not arrived yet. May throw to refuse it before it is buffered. */
  readonly onLength?: ((bytes: number) => void) | undefined;
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
  /** The received part of the frame that is being collected, with its header. */
  readonly #partial = new GrowingBuffer();
  /** Bytes of that frame; 0 if none is being collected. */
  #expected = 0;

  constructor(options: FrameReaderOptions) {
    this.#options = options;
  }

  /** Whether no incomplete frame is buffered. */
  get isEmpty(): boolean {
    return this.#rest.byteLength === 0 && this.#expected === 0;
  }

  /** Adds the next bytes. Call `next` afterwards until it returns undefined. */
  push(chunk: Buffer): void {
    const missing = this.#expected - this.#partial.length;
    if (missing > 0) this.#partial.append(chunk.subarray(0, missing), this.#expected);
    const rest = missing > 0 ? chunk.subarray(missing) : chunk;
    this.#rest = this.#rest.byteLength === 0 ? rest : Buffer.concat([this.#rest, rest]);
  }

  /**
   * Returns the next whole frame; undefined while it is not complete.
   * @throws ConnectError INTERNAL for flags that gRPC does not define, RESOURCE_EXHAUSTED for a message over the limit.
   *   Also throws the errors of `onLength`.
   */
  next(): Frame | undefined {
    if (this.#expected > 0) return this.#partial.length === this.#expected ? this.#takePartial() : undefined;
    const rest = this.#rest;
    if (rest.byteLength < FRAME_HEADER_BYTES) return undefined;
    const end = FRAME_HEADER_BYTES + this.#lengthIn(rest);
    if (rest.byteLength >= end) {
      this.#rest = rest.subarray(end);
      return createFrame(rest.subarray(0, end));
    }
    this.#options.onLength?.(end - rest.byteLength);
    this.#expected = end;
    this.#rest = NOTHING;
    this.#partial.append(rest, end);
    return undefined;
  }

  /**
   * Must be called after the last bytes, when `next` has returned undefined.
   * @throws ConnectError INVALID_ARGUMENT if the bytes end inside a frame.
   */
  end(): undefined {
    if (!this.isEmpty) throw new ConnectError("a message was cut off", Code.InvalidArgument);
  }

  /** Discards the buffered bytes. */
  discard(): void {
    this.#rest = NOTHING;
    this.#partial.take();
    this.#expected = 0;
  }

  #lengthIn(header: Buffer): number {
    const { maxMessageBytes, strictFlags } = this.#options;
    if (strictFlags) checkFlags(header.readUInt8(0));
    const length = header.readUInt32BE(1);
    if (length > maxMessageBytes) throw tooLarge(`${length} bytes`, maxMessageBytes);
    return length;
  }

  #takePartial(): Frame {
    this.#expected = 0;
    return createFrame(this.#partial.take());
  }
}

function createFrame(bytes: Buffer): Frame {
  return { flags: bytes.readUInt8(0), bytes: bytes.subarray(FRAME_HEADER_BYTES) };
}

function checkFlags(flags: number): void {
  if (flags <= COMPRESSED) return;
  throw new ConnectError(`a message has the flags ${flags}, expected 0 or 1`, Code.Internal);
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
