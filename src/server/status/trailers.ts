import type { OutgoingHttpHeaders } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import type { Metadata } from "./metadata.ts";

/**
 * Creates the trailers of a call: its status (PROTOCOL-HTTP2, Trailers), the details as `grpc-status-details-bin`, and
 * the metadata of the service and of the error.
 * @param error Undefined if the call succeeded.
 */
export function toTrailers(
  metadata: Metadata | undefined,
  error: ConnectError | undefined,
): OutgoingHttpHeaders {
  const trailers: OutgoingHttpHeaders = {};
  metadata?.writeTo(trailers);
  if (error !== undefined) addMetadata(trailers, error.metadata);
  trailers["grpc-status"] = String(error?.code ?? 0);
  if (error === undefined) return trailers;
  trailers["grpc-message"] = encodeGrpcMessage(error.rawMessage.toWellFormed());
  if (error.details.length > 0) trailers["grpc-status-details-bin"] = toDetails(error);
  return trailers;
}

/** Encodes base64 without padding, as gRPC requires of senders of metadata. */
function encodeBinary(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64").replace(/=+$/, "");
}

// An error may carry the headers of a response that a service got from another server.
const RESERVED =
  /^(?:content-.*|grpc-(?:status.*|message|encoding|accept-encoding|timeout)|te|trailer|host|user-agent|connection|transfer-encoding)$/;

function addMetadata(trailers: OutgoingHttpHeaders, metadata: Headers): void {
  for (const [name, value] of metadata) {
    if (!RESERVED.test(name)) trailers[name] = value;
  }
}

function toDetails({ code, rawMessage, details }: ConnectError): string {
  const packed = details.map((detail) =>
    "desc" in detail
      ? anyPack(detail.desc, create(detail.desc, detail.value))
      : { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value },
  );
  const status = create(StatusSchema, { code, message: rawMessage.toWellFormed(), details: packed });
  return encodeBinary(toBinary(StatusSchema, status));
}

/**
 * Encodes a message for the trailer `grpc-message` (PROTOCOL-HTTP2, Percent-Encoded). Escapes spaces and a few other
 * characters in addition to the required ones, but none that grpc-js, which decodes with `decodeURI`, would leave
 * escaped.
 * @param message Well-formed, see `boundedText`.
 */
function encodeGrpcMessage(message: string): string {
  return encodeURI(message);
}

/**
 * Returns trailers with a `grpc-message` that all gRPC clients can decode: Connect escapes every `:` and `/` in that
 * text.
 */
export function readableTrailers(trailers: Headers): Record<string, string> {
  const readable = Object.fromEntries(trailers);
  const message = readable[GRPC_MESSAGE];
  if (message !== undefined) readable[GRPC_MESSAGE] = encodeGrpcMessage(decodeURIComponent(message));
  return readable;
}

const GRPC_MESSAGE = "grpc-message";
