/**
 * The common parts of Connect and gRPC-Web: every message, and the end of the stream, is preceded by a flag and its
 * length.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import type { ConnectError } from "@connectrpc/connect";
import { compressionNegotiate, encodeEnvelope } from "@connectrpc/connect/protocol";
import { toCompression } from "../../requests/decompress.ts";
import type { Metadata } from "../../status/metadata.ts";
import { encodeFrames, FrameReader } from "../grpc/frames.ts";
import type { MessageCodec, StreamProtocol, StreamSettings } from "./protocol.ts";

/** The differences between protocols with envelopes. */
export interface EnvelopedVariant {
  readonly name: string;
  readonly contentType: string;
  /** Names of the headers that negotiate compression. */
  readonly encodingHeader: string;
  readonly acceptHeader: string;
  readonly timeoutMs: () => number | undefined;
  /** The flag of the envelope that ends a stream. */
  readonly endFlag: number;
  /** Encodes the content of that envelope. */
  readonly encodeEnd: (trailer: Metadata, error: ConnectError | undefined) => Uint8Array;
}

/** Creates the protocol of one call. */
export function envelopedProtocol(
  variant: EnvelopedVariant,
  requestHeaders: IncomingHttpHeaders,
  codec: MessageCodec,
  { compressions, intake }: StreamSettings,
): StreamProtocol {
  const { name, contentType, encodingHeader, acceptHeader, timeoutMs, endFlag, encodeEnd } = variant;
  const { request, response, error } = compressionNegotiate(
    [...compressions],
    getHeader(requestHeaders, encodingHeader),
    getHeader(requestHeaders, acceptHeader),
    acceptHeader,
  );
  const headers: OutgoingHttpHeaders = { "content-type": contentType };
  // Messages are still not compressed: clients run on the same machine, so bytes cost less.
  if (response !== null) headers[encodingHeader] = response.name;
  return {
    name,
    headers,
    timeoutMs,
    readRequest(share) {
      if (error !== undefined) throw error;
      const { maxMessageBytes } = intake.limits;
      const frames = new FrameReader({ maxMessageBytes, strictFlags: true, share });
      return { frames, compression: toCompression(request?.name), codec };
    },
    encode: (messages) => encodeFrames(codec.encode, messages),
    endHasTrailers: true,
    encodeEnd: (trailer, failure) => encodeEnvelope(endFlag, encodeEnd(trailer, failure)),
    fail: undefined,
  };
}

/** Returns the value of a header; null if there is none, as in Connect's interfaces. */
export function getHeader(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : String(value);
}
