import { createMethodUrl } from "@connectrpc/connect/protocol";
import type { HttpRequest, HttpResponse } from "../../base/http-types.ts";
import type { Service } from "../../calls/service.ts";
import type { CallRecorder } from "../../telemetry/call-recorder.ts";
import type { TransportOutcome } from "../../telemetry/outcome.ts";
import { createStreamMethod } from "./codec.ts";
import { serveStream } from "./exchange.ts";
import { findStreamProtocol } from "./find-protocol.ts";
import type { StreamMethod, StreamSettings } from "./protocol.ts";

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
