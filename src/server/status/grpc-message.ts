/**
 * Encodes a message for the trailer `grpc-message` (PROTOCOL-HTTP2, Percent-Encoded). Escapes spaces and a few other
 * characters besides the required ones, but none that grpc-js, which decodes with `decodeURI`, would leave escaped.
 * @param message Well-formed, see `boundedText`.
 */
export function encodeGrpcMessage(message: string): string {
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
