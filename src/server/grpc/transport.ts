import type { IncomingHttpHeaders } from "node:http2";
import { createServiceImplSpec } from "@connectrpc/connect";
import { REQUEST_ID_HEADER, requestIdOf } from "../http/id-headers.ts";
import type { StreamHandler } from "../listen/http-types.ts";
import type { Limits } from "../options.ts";
import type { Routes } from "../services/services.ts";
import { createCall } from "../telemetry/call.ts";
import type { CallObserver } from "../telemetry/call-observer.ts";
import { type GrpcMethod, serveExchange } from "./exchange.ts";
import { messageEncoderOf } from "./message-encoder.ts";

/** What a gRPC transport is made of. */
export interface GrpcTransportOptions {
  readonly routes: Routes;
  readonly limits: Limits;
  readonly observer: CallObserver;
}

/**
 * Serves gRPC straight on the streams of HTTP/2, with the services that Connect serves to
 * everyone else. Takes what is a call of a method that exists; whatever else comes is left
 * to the general way, which knows all the answers.
 */
export function createGrpcTransport({ routes, limits, observer }: GrpcTransportOptions): StreamHandler {
  const methods = methodsOf(routes);
  return (stream, headers) => {
    if (!isGrpc(headers)) return false;
    const method = methods.get(headers[":path"] ?? "");
    if (method === undefined) return false;
    const call = createCall({
      rpc: rpcOf(method),
      requestId: requestIdOf(headers[REQUEST_ID_HEADER]),
      httpVersion: "2.0",
    });
    call.protocol = "grpc";
    observer.begin(call);
    void serveExchange({ method, call, stream, headers, limits }).then(() => observer.end(call));
    return true;
  };
}

/** Whether a request is gRPC with protobuf. A browser's is not: whoever names an origin is to be judged by it. */
function isGrpc({ ":method": method, "content-type": type, origin }: IncomingHttpHeaders): boolean {
  return (
    (type === "application/grpc" || type === "application/grpc+proto") &&
    method === "POST" &&
    origin === undefined
  );
}

/** The methods of all services by their paths. */
function methodsOf(routes: Routes): ReadonlyMap<string, GrpcMethod> {
  const methods = new Map<string, GrpcMethod>();
  routes({
    service(service, implementation) {
      for (const spec of Object.values(createServiceImplSpec(service, implementation).methods)) {
        methods.set(`/${service.typeName}/${spec.method.name}`, {
          spec,
          encode: messageEncoderOf(spec.method.output),
        });
      }
    },
  });
  return methods;
}

function rpcOf({ spec: { method } }: GrpcMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}
