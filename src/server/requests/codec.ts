import { type DescMessage, fromBinary, type Message } from "@bufbuild/protobuf";
import { parseFault } from "../internals/error-texts.ts";
import { countElements } from "./element-counter.ts";

/** Decodes the messages of one type, in one format. */
export interface Codec {
  /**
   * Counts the elements that a message will hold, without decoding it.
   * @throws ConnectError for more than `max` fields and values.
   */
  countElements(bytes: Uint8Array, max: number): number;
  /** Decodes a message. Throws a ConnectError if it is malformed. */
  decode(bytes: Uint8Array): Message;
}

/** Options for protobuf-es: an unknown field would cost more memory than a known one. */
export const BINARY_OPTIONS = { readUnknownFields: false } as const;

/** Decodes protobuf's binary format. `describeProtocolError` recognizes its errors. */
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
