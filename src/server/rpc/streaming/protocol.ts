import type { OutgoingHttpHeaders } from "node:http2";
import type { JsonReadOptions, JsonWriteOptions, Message } from "@bufbuild/protobuf";
import type { ConnectError, MethodImplSpec } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import type { MessageEncoder } from "../../../core/message-encoder.ts";
import type { UnsentResponses } from "../../http/flushed-response.ts";
import type { Codec } from "../../requests/codec.ts";
import type { Intake } from "../../requests/intake.ts";
import type { CallMemory } from "../../requests/request-memory.ts";
import type { Metadata } from "../../status/metadata.ts";
import type { RequestOptions } from "../grpc/request.ts";

/** A method with a streamed response. */
export type StreamSpec = Extract<MethodImplSpec, { readonly kind: "server_streaming" | "bidi_streaming" }>;

/** The messages of one method in one format: protobuf's binary format, or JSON. */
export interface MessageCodec extends Codec {
  /** Whether it is JSON. */
  readonly isJson: boolean;
  /** Encodes a response. */
  readonly encode: MessageEncoder;
}

/** A method, prepared for calls. */
export interface StreamMethod {
  readonly spec: StreamSpec;
  readonly binary: MessageCodec;
  readonly json: MessageCodec;
  /** Returns the name of a response if there are several kinds: the JSON name of the oneof field that is set. */
  readonly getName: (message: Message) => string | undefined;
}

/** The parts that all calls of a server share. */
export interface StreamSettings {
  readonly intake: Intake;
  readonly unsent: UnsentResponses;
  /** Compressions that clients may use, the preferred one first. */
  readonly compressions: readonly Compression[];
  readonly jsonOptions: Partial<JsonReadOptions & JsonWriteOptions>;
}

/** A response without messages. */
export interface FailedResponse {
  /** HTTP status. */
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Uint8Array;
}

/** The parts that turn the bytes of a request into messages. */
export type RequestFormat = Pick<RequestOptions, "frames" | "compression" | "codec">;

/** The form of one call in its protocol. */
export interface StreamProtocol {
  /** Connect's name of the protocol. */
  readonly name: string;
  /** The headers of a response of status 200. */
  readonly headers: OutgoingHttpHeaders;
  /** Returns the deadline of the call, in milliseconds from now. @throws ConnectError if it is invalid. */
  readonly timeoutMs: () => number | undefined;
  /**
   * Returns the format of the request, whose memory the share accounts for. @throws ConnectError for an unknown
   * compression.
   */
  readonly readRequest: (share: CallMemory) => RequestFormat;
  /** Encodes messages that became ready together. */
  readonly encode: (messages: readonly Message[]) => Uint8Array;
  /** Whether the end that `encodeEnd` encodes has the trailers. Otherwise the trailers of HTTP are used. */
  readonly endHasTrailers: boolean;
  /**
   * Encodes the end after the last message; empty if the protocol has none. `error` is undefined for a successful call.
   */
  readonly encodeEnd: (trailer: Metadata, error: ConnectError | undefined) => Uint8Array;
  /**
   * Creates the response of a call that fails before its first message. Undefined if the protocol sends such an error
   * like any other, after headers of status 200.
   */
  readonly fail: ((error: ConnectError) => FailedResponse) | undefined;
}
