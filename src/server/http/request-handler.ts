import type { HttpHandler, HttpRequest } from "../listen/http-types.ts";
import { FORBIDDEN_ORIGIN, sendRefusal, unknownPath } from "../status/refusal.ts";
import { type Call, createCall } from "../telemetry/call.ts";
import type { CallObserver } from "../telemetry/call-observer.ts";
import { REQUEST_ID_HEADER, requestIdOf } from "./id-headers.ts";
import type { OriginCheck } from "./origin.ts";
import type { Endpoint, Transport } from "./transport.ts";

/** What stands behind a door. */
export interface RequestHandlerOptions {
  readonly transport: Transport;
  readonly checkOrigin: OriginCheck;
  readonly observer: CallObserver;
}

/** Takes every request of a listener: checks its origin, finds its RPC, serves it, and reports how it went. */
export function createRequestHandler({
  transport,
  checkOrigin,
  observer,
}: RequestHandlerOptions): HttpHandler {
  return (request, response) => {
    // Whoever writes is told by a callback; without a listener the event would end the process.
    response.on("error", () => {});
    const path = pathOf(request);
    const endpoint = transport.find(path);
    const call = callOf(request, endpoint);
    response.setHeader(REQUEST_ID_HEADER, call.requestId);
    const verdict = checkOrigin(request, response);
    if (verdict === "answered") return;
    observer.begin(call);
    if (verdict === "refused") sendRefusal(call, request, response, FORBIDDEN_ORIGIN);
    else if (endpoint === undefined) sendRefusal(call, request, response, unknownPath(path));
    else {
      void endpoint.serve(call, request, response).then(() => observer.end(call));
      return;
    }
    observer.end(call);
  };
}

function callOf(request: HttpRequest, endpoint: Endpoint | undefined): Call {
  return createCall({
    rpc: endpoint?.rpc ?? "unknown",
    requestId: requestIdOf(request.headers[REQUEST_ID_HEADER]),
    httpVersion: request.httpVersion,
  });
}

function pathOf({ url = "" }: HttpRequest): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}
