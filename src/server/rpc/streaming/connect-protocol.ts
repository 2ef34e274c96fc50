/** Streams of the Connect protocol (connectrpc.com/docs/protocol, Streaming RPCs). */
import type { IncomingHttpHeaders } from "node:http2";
import {
  createEndStreamSerialization,
  endStreamFlag,
  parseTimeout,
} from "@connectrpc/connect/protocol-connect";
import { MAX_TIMER_MS } from "../grpc/request-headers.ts";
import { envelopedProtocol, getHeader } from "./enveloped.ts";
import type { MessageCodec, StreamProtocol, StreamSettings } from "./protocol.ts";

/** Creates the protocol of a call. */
export function connectProtocol(
  headers: IncomingHttpHeaders,
  codec: MessageCodec,
  settings: StreamSettings,
): StreamProtocol {
  const endStream = createEndStreamSerialization(settings.jsonOptions);
  const variant = {
    name: "connect",
    contentType: codec.isJson ? "application/connect+json" : "application/connect+proto",
    encodingHeader: "connect-content-encoding",
    acceptHeader: "connect-accept-encoding",
    timeoutMs: () => parseConnectTimeout(headers),
    endFlag: endStreamFlag,
    encodeEnd: (metadata, error) =>
      endStream.serialize(error === undefined ? { metadata } : { metadata, error }),
  } satisfies Parameters<typeof envelopedProtocol>[0];
  return envelopedProtocol(variant, headers, codec, settings);
}

/**
 * Parses the timeout in the header `connect-timeout-ms`, in milliseconds. Undefined if there is no header, and for a
 * timeout over 24.8 days, the longest timer: clients without a deadline send such values.
 * @throws ConnectError INVALID_ARGUMENT if the value is not a number.
 */
export function parseConnectTimeout(headers: IncomingHttpHeaders): number | undefined {
  const { timeoutMs = Number.POSITIVE_INFINITY, error } = parseTimeout(
    getHeader(headers, "connect-timeout-ms"),
    Number.MAX_SAFE_INTEGER,
  );
  if (error !== undefined) throw error;
  return timeoutMs > MAX_TIMER_MS ? undefined : timeoutMs;
}
