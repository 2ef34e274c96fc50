import { type DescMessage, type JsonWriteOptions, toJsonString } from "@bufbuild/protobuf";
import type { ByteSink } from "../grpc/byte-sink.ts";
import type { MessageEncoder } from "../grpc/message-encoder.ts";

/** Creates an encoder that writes a message type as JSON (ProtoJSON): the same text as `toJsonString`. */
export function createJsonEncoder(desc: DescMessage, options: Partial<JsonWriteOptions>): MessageEncoder {
  return (message, sink) => writeText(toJsonString(desc, message, options), sink);
}

/** Largest number of UTF-8 bytes for a UTF-16 code unit. */
const MAX_UTF8_BYTES = 3;

function writeText(text: string, sink: ByteSink): void {
  // Counting is slower than writing, so it is done only if the buffer may be too small.
  const fits = sink.position + MAX_UTF8_BYTES * text.length <= sink.buffer.length;
  if (!fits) sink.reserve(Buffer.byteLength(text));
  sink.position += sink.buffer.write(text, sink.position);
}
