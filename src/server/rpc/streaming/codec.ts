import { type DescMessage, type JsonWriteOptions, toJsonString } from "@bufbuild/protobuf";
import { createMethodSerializationLookup } from "@connectrpc/connect/protocol";
import { binaryCodec } from "../../requests/codec.ts";
import { countJsonElements } from "../../requests/json-element-counter.ts";
import { describeJsonFault } from "../../status/status.ts";
import type { ByteSink } from "../grpc/byte-sink.ts";
import { type MessageEncoder, toMessageEncoder } from "../grpc/message-encoder.ts";
import type { StreamMethod, StreamSettings, StreamSpec } from "./protocol.ts";

/** Prepares a method for calls. */
export function createStreamMethod(spec: StreamSpec, settings: StreamSettings): StreamMethod {
  const { input, output } = spec.method;
  const { jsonOptions, intake } = settings;
  const limits = { readMaxBytes: intake.limits.maxMessageBytes, writeMaxBytes: Number.MAX_SAFE_INTEGER };
  const json = createMethodSerializationLookup(spec.method, undefined, jsonOptions, limits).getI(false);
  return {
    spec,
    binary: {
      isJson: false,
      encode: toMessageEncoder(output),
      ...binaryCodec(input),
    },
    json: {
      isJson: true,
      encode: createJsonEncoder(output, jsonOptions),
      countElements: countJsonElements,
      decode(bytes) {
        try {
          return json.parse(bytes);
        } catch (error) {
          describeJsonFault(error, input, bytes);
          throw error;
        }
      },
    },
    getName: messageNamer(output),
  };
}

/** Returns a function that names messages whose type has exactly one oneof. */
function messageNamer({ oneofs }: DescMessage): StreamMethod["getName"] {
  const [oneof, another] = oneofs;
  if (oneof === undefined || another !== undefined) return () => undefined;
  const { localName } = oneof;
  const names = new Map(oneof.fields.map((field) => [field.localName, field.jsonName]));
  return (message) => {
    const value: { readonly case?: string } = Reflect.get(message, localName);
    return names.get(value.case ?? "");
  };
}

/** Creates an encoder that writes a message type as JSON (ProtoJSON): the same text as `toJsonString`. */
function createJsonEncoder(desc: DescMessage, options: Partial<JsonWriteOptions>): MessageEncoder {
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
