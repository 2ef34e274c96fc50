import type { DescMessage } from "@bufbuild/protobuf";
import { createMethodSerializationLookup } from "@connectrpc/connect/protocol";
import { binaryCodec } from "../../requests/codec.ts";
import { countJsonElements } from "../../requests/json-element-counter.ts";
import { describeJsonFault } from "../../status/status.ts";
import { toMessageEncoder } from "../grpc/message-encoder.ts";
import { createJsonEncoder } from "./json-encoder.ts";
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
