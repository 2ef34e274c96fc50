import { parseContentType as parseConnectType } from "@connectrpc/connect/protocol-connect";
import { parseContentType as parseGrpcWebType } from "@connectrpc/connect/protocol-grpc-web";
import type { HttpRequest } from "../../base/http-types.ts";
import { connectProtocol } from "./connect-protocol.ts";
import { linesProtocol } from "./event-lines.ts";
import { grpcWebProtocol } from "./grpc-web-protocol.ts";
import type { StreamMethod, StreamProtocol, StreamSettings } from "./protocol.ts";

/** Returns the protocol of a call to a streaming method. Undefined for gRPC, and if the request matches no protocol. */
export function findStreamProtocol(
  { method: verb, headers, httpVersionMajor }: HttpRequest,
  method: StreamMethod,
  settings: StreamSettings,
): StreamProtocol | undefined {
  const isBidi = method.spec.kind === "bidi_streaming";
  // A bidirectional stream needs HTTP/2; Connect's handlers report that.
  if (verb !== "POST" || (isBidi && httpVersionMajor < 2)) return undefined;
  const type = headers["content-type"] ?? null;
  const connect = parseConnectType(type);
  if (connect !== undefined) {
    if (connect.stream)
      return connectProtocol(headers, connect.binary ? method.binary : method.json, settings);
    return connect.binary || isBidi ? undefined : linesProtocol(headers, method, settings);
  }
  const web = parseGrpcWebType(type);
  return web === undefined
    ? undefined
    : grpcWebProtocol(headers, web.binary ? method.binary : method.json, settings);
}
