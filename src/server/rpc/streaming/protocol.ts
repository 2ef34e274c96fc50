import type { OutgoingHttpHeaders } from "node:http2";
import type { JsonReadOptions, JsonWriteOptions, Message } from "@bufbuild/protobuf";
import type { ConnectError, MethodImplSpec } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import type { UnsentResponses } from "../../http/unsent-responses.ts";
import type { Codec } from "../../requests/codec.ts";
import type { Intake } from "../../requests/intake.ts";
import type { RequestShare } from "../../requests/request-memory.ts";
import type { Metadata } from "../../status/metadata.ts";
import type { MessageEncoder } from "../grpc/message-encoder.ts";
import type { RequestOptions } from "../grpc/request.ts";

/** A method that answers with a stream. */
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
  /** The name of a response, where it is one of several kinds: the field of its oneof that is set, as JSON has it. */
  readonly getName: (message: Message) => string | undefined;
}

/** What all calls of a server share. */
export interface StreamSettings {
  readonly intake: Intake;
  readonly unsent: UnsentResponses;
  /** Compressions that clients may use, the preferred one first. */
  readonly compressions: readonly Compression[];
  readonly jsonOptions: Partial<JsonReadOptions & JsonWriteOptions>;
}

/** An answer without messages. */
export interface FailedResponse {
  /** HTTP status. */
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Uint8Array;
}

/** How the bytes of a request become messages. */
export type RequestFormat = Pick<RequestOptions, "frames" | "compression" | "codec">;

/** How one call is written in its protocol. */
export interface StreamProtocol {
  /** Connect's name of the protocol. */
  readonly name: string;
  /** The headers of a response of status 200. */
  readonly headers: OutgoingHttpHeaders;
  /** The deadline of the call, in milliseconds from now. @throws ConnectError for one that is invalid. */
  readonly timeoutMs: () => number | undefined;
  /** How the request is read. The share pays for it. @throws ConnectError for an unknown compression. */
  readonly readRequest: (share: RequestShare) => RequestFormat;
  /** Encodes messages that became ready together. */
  readonly encode: (messages: readonly Message[]) => Uint8Array;
  /** What follows the last message, empty where nothing does. `error` is undefined for a call that succeeded. */
  readonly encodeEnd: (trailer: Metadata, error: ConnectError | undefined) => Uint8Array;
  /**
   * The response of a call that fails before its first message. Undefined where the protocol sends such an error like
   * any other, after headers of status 200.
   */
  readonly fail: ((error: ConnectError) => FailedResponse) | undefined;
}
