import { type DescMessage, fromBinary, type Message } from "@bufbuild/protobuf";
import { parseFault } from "../internals/error-texts.ts";
import { countElements } from "./element-counter.ts";

/** Decodes the messages of one type, in one format. */
export interface Codec {
  /**
   * Counts what a message will cost besides its bytes, without decoding it.
   * @throws ConnectError for more than `max` fields and values.
   */
  countElements(bytes: Uint8Array, max: number): number;
  /** Decodes a message. Throws the ConnectError of one that is malformed. */
  decode(bytes: Uint8Array): Message;
}

/** Options for protobuf-es: a field that no schema knows would cost more memory than one that is known. */
export const BINARY_OPTIONS = { readUnknownFields: false } as const;

/** Decodes protobuf's binary format. Its errors are those that `describeProtocolError` recognizes. */
export function binaryCodec(desc: DescMessage): Codec {
  return {
    countElements: (bytes, max) => countElements(desc, bytes, max),
    decode(bytes) {
      try {
        return fromBinary(desc, bytes, BINARY_OPTIONS);
      } catch (error) {
        throw parseFault(error);
      }
    },
  };
}
