/** gRPC's framing: a flag and a length before every message (PROTOCOL-HTTP2, Length-Prefixed-Message). */
import { Code, ConnectError } from "@connectrpc/connect";

/** A message on the wire. */
export interface Frame {
  readonly compressed: boolean;
  readonly bytes: Uint8Array;
}

/** Bytes before each message: one of flags, four of length. */
export const FRAME_HEADER_BYTES = 5;

/**
 * Splits bytes into frames, wherever the reads of the network split them. A length over the limit is rejected as soon
 * as it is read, before the message is buffered.
 */
export class FrameReader {
  readonly #maxMessageBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Bytes of the incoming frame, header included; 0 until its header is complete. */
  #expected = 0;

  constructor(maxMessageBytes: number) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** Adds the next bytes. Call `next` afterwards until it returns undefined. */
  push(chunk: Buffer): void {
    if (chunk.byteLength === 0) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
  }

  /**
   * The next whole frame; undefined while it is not complete.
   * @throws ConnectError INTERNAL for flags that gRPC does not have, RESOURCE_EXHAUSTED for a
   *   message over the limit.
   */
  next(): Frame | undefined {
    if (this.#bytes < FRAME_HEADER_BYTES) return undefined;
    if (this.#expected === 0) this.#expected = FRAME_HEADER_BYTES + this.#checkHeader();
    if (this.#bytes < this.#expected) return undefined;
    const frame = this.#take(this.#expected);
    this.#expected = 0;
    return { compressed: frame[0] === COMPRESSED, bytes: frame.subarray(FRAME_HEADER_BYTES) };
  }

  /**
   * To be called after the last bytes, when `next` has returned undefined.
   * @throws ConnectError INVALID_ARGUMENT where they end inside a frame.
   */
  end(): undefined {
    if (this.#bytes > 0) throw new ConnectError("a message was cut off", Code.InvalidArgument);
  }

  #checkHeader(): number {
    const header = this.#peek(FRAME_HEADER_BYTES);
    const flags = header.readUInt8(0);
    if (flags > COMPRESSED) {
      throw new ConnectError(`a message has the flags ${flags}, expected 0 or 1`, Code.Internal);
    }
    const length = header.readUInt32BE(1);
    if (length > this.#maxMessageBytes) throw tooLarge(`${length} bytes`, this.#maxMessageBytes);
    return length;
  }

  /** The first chunk, joined with others to at least that many bytes, which must be buffered. */
  #peek(bytes: number): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && first.byteLength >= bytes) return first;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }

  #take(bytes: number): Buffer {
    const first = this.#peek(bytes);
    if (first.byteLength === bytes) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(bytes);
    this.#bytes -= bytes;
    return first.subarray(0, bytes);
  }
}

/** The header of a frame. */
export function writeFrameHeader(
  buffer: Buffer,
  position: number,
  { compressed, length }: { compressed: boolean; length: number },
): void {
  buffer[position] = compressed ? COMPRESSED : 0;
  buffer.writeUInt32BE(length, position + 1);
}

/** The error of a message that is over the limit, before or after decompression. */
export function tooLarge(found: string, maxBytes: number): ConnectError {
  return new ConnectError(
    `the message is too large: expected at most ${maxBytes} bytes (limits.max_message_bytes), found ${found}`,
    Code.ResourceExhausted,
  );
}

const COMPRESSED = 1;
