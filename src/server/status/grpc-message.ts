/**
 * Encodes a message for the trailer `grpc-message`. Of what the specification leaves as it is
 * (visible ASCII but `%`) only spaces and a few others are escaped too, and none of those that
 * grpc-js, which reads it with `decodeURI`, would leave escaped.
 * @param message Well-formed, see `boundedText`.
 */
export function encodeGrpcMessage(message: string): string {
  return encodeURI(message);
}

/** The trailers as gRPC clients read them: Connect escapes every `:` and `/` in `grpc-message`. */
export function readableTrailers(trailers: Headers): Record<string, string> {
  const readable = Object.fromEntries(trailers);
  const message = readable[GRPC_MESSAGE];
  if (message !== undefined) readable[GRPC_MESSAGE] = encodeGrpcMessage(decodeURIComponent(message));
  return readable;
}

const GRPC_MESSAGE = "grpc-message";
