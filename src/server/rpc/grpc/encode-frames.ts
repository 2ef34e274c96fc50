import type { Message } from "@bufbuild/protobuf";
import { ByteSink } from "./byte-sink.ts";
import { FRAME_HEADER_BYTES, writeFrameHeader } from "./frames.ts";
import { compress } from "./gzip.ts";
import type { MessageEncoder } from "./message-encoder.ts";

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
    writeFrameHeader(sink.buffer, position, { compressed: false, length });
  }
  return sink.take();
}

/** Encodes a message as one frame, and compresses it if it is large enough. */
export async function encodeFrame(encode: MessageEncoder, message: Message): Promise<Buffer> {
  const plain = encodeFrames(encode, [message]);
  if (plain.byteLength < MIN_COMPRESSED_BYTES) return plain;
  const compressed = await compress(plain.subarray(FRAME_HEADER_BYTES));
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + compressed.byteLength);
  writeFrameHeader(frame, 0, { compressed: true, length: compressed.byteLength });
  frame.set(compressed, FRAME_HEADER_BYTES);
  return frame;
}
