import type { Message } from "@bufbuild/protobuf";
import { ByteSink } from "./byte-sink.ts";
import { FRAME_HEADER_BYTES, tooLarge, writeFrameHeader } from "./frames.ts";
import { compress } from "./gzip.ts";
import type { MessageEncoder } from "./message-encoder.ts";

/** Messages from this size on are worth a compressor, in bytes. */
const MIN_COMPRESSED_BYTES = 256;

// One for all calls: between `start` and `take` nothing else runs.
const sink = new ByteSink();

/**
 * Messages as frames, one after the other in one chunk.
 * @throws ConnectError RESOURCE_EXHAUSTED for a message over the limit.
 */
export function encodeFrames(encode: MessageEncoder, messages: readonly Message[], maxBytes: number): Buffer {
  sink.start();
  for (const message of messages) {
    sink.reserve(FRAME_HEADER_BYTES);
    const offset = sink.length;
    sink.position += FRAME_HEADER_BYTES;
    encode(message, sink);
    const length = sink.length - offset - FRAME_HEADER_BYTES;
    if (length > maxBytes) throw tooLarge(`${length} bytes`, maxBytes);
    // The chunk may have moved to a larger buffer meanwhile.
    const position = sink.position - FRAME_HEADER_BYTES - length;
    writeFrameHeader(sink.buffer, position, { compressed: false, length });
  }
  return sink.take();
}

/** A message as one frame, compressed where that pays. Throws what `encodeFrames` throws. */
export async function encodeFrame(
  encode: MessageEncoder,
  message: Message,
  maxBytes: number,
): Promise<Buffer> {
  const plain = encodeFrames(encode, [message], maxBytes);
  if (plain.byteLength < MIN_COMPRESSED_BYTES) return plain;
  const compressed = await compress(plain.subarray(FRAME_HEADER_BYTES));
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + compressed.byteLength);
  writeFrameHeader(frame, 0, { compressed: true, length: compressed.byteLength });
  frame.set(compressed, FRAME_HEADER_BYTES);
  return frame;
}
