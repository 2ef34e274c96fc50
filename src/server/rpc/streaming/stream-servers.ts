import { createMethodUrl } from "@connectrpc/connect/protocol";
import { parseContentType as parseConnectType } from "@connectrpc/connect/protocol-connect";
import { parseContentType as parseGrpcWebType } from "@connectrpc/connect/protocol-grpc-web";
import type { HttpRequest, HttpResponse } from "../../base/http-types.ts";
import type { Service } from "../../calls/service.ts";
import type { CallRecorder } from "../../telemetry/call-recorder.ts";
import type { TransportOutcome } from "../../telemetry/outcome.ts";
import { createStreamMethod } from "./codec.ts";
import { connectProtocol } from "./connect-protocol.ts";
import { linesProtocol } from "./event-lines.ts";
import { serveStream } from "./exchange.ts";
import { grpcWebProtocol } from "./grpc-web-protocol.ts";
import type { StreamMethod, StreamProtocol, StreamSettings } from "./protocol.ts";

/**
 * Serves a call of one method. If the request matches no protocol for streams, it does nothing and returns undefined.
 */
export type ServeStream = (
  request: HttpRequest,
  response: HttpResponse,
  recorder: CallRecorder,
) => Promise<TransportOutcome> | undefined;

/** Creates the functions that serve the streaming methods, by their paths. */
export function createStreamServers(
  services: readonly Service[],
  settings: StreamSettings,
): ReadonlyMap<string, ServeStream> {
  const servers = new Map<string, ServeStream>();
  for (const spec of services.flatMap(({ methods }) => methods)) {
    if (spec.kind !== "server_streaming" && spec.kind !== "bidi_streaming") continue;
    servers.set(
      createMethodUrl("/", spec.method),
      createStreamServer(createStreamMethod(spec, settings), settings),
    );
  }
  return servers;
}

function createStreamServer(method: StreamMethod, settings: StreamSettings): ServeStream {
  return (request, response, recorder) => {
    const protocol = findStreamProtocol(request, method, settings);
    if (protocol === undefined) return undefined;
    return serveStream({ spec: method.spec, protocol, settings, request, response, recorder });
  };
}

/** Returns the protocol of a call to a streaming method. Undefined for gRPC, and if the request matches no protocol. */
function findStreamProtocol(
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
