import type { Message } from "@bufbuild/protobuf";
import { ByteSink } from "./byte-sink.ts";
import { FRAME_HEADER_BYTES, writeFrameHeader } from "./frames.ts";
import { compress } from "./gzip.ts";
import type { MessageEncoder } from "./message-encoder.ts";

/** Messages from this size on are worth a compressor, in bytes. */
const MIN_COMPRESSED_BYTES = 256;

// One for all calls: between `start` and `take` nothing else runs.
const sink = new ByteSink();

/** Messages as frames, one after the other in one chunk. */
export function encodeFrames(encode: MessageEncoder, messages: readonly Message[]): Buffer {
  sink.start();
  for (const message of messages) {
    sink.reserve(FRAME_HEADER_BYTES);
    const offset = sink.length;
    sink.position += FRAME_HEADER_BYTES;
    encode(message, sink);
    const length = sink.length - offset - FRAME_HEADER_BYTES;
    // The chunk may have moved to a larger buffer meanwhile.
    const position = sink.position - FRAME_HEADER_BYTES - length;
    writeFrameHeader(sink.buffer, position, { compressed: false, length });
  }
  return sink.take();
}

/** A message as one frame, compressed where that pays. */
export async function encodeFrame(encode: MessageEncoder, message: Message): Promise<Buffer> {
  const plain = encodeFrames(encode, [message]);
  if (plain.byteLength < MIN_COMPRESSED_BYTES) return plain;
  const compressed = await compress(plain.subarray(FRAME_HEADER_BYTES));
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + compressed.byteLength);
  writeFrameHeader(frame, 0, { compressed: true, length: compressed.byteLength });
  frame.set(compressed, FRAME_HEADER_BYTES);
  return frame;
}
