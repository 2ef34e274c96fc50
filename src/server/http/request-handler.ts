import type { Caller } from "../../core/caller.ts";
import type { AccessControl } from "../access/access-control.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "../listen/http-types.ts";
import { FORBIDDEN_ORIGIN, forbiddenHost, type Rejection, rejectionOfError } from "../status/rejection.ts";
import { createCall } from "../telemetry/call.ts";
import type { CallObserver } from "../telemetry/call-observer.ts";
import { CallRecorder } from "../telemetry/call-recorder.ts";
import { fallbackApi } from "./fallback-api.ts";
import type { HostCheck } from "./host.ts";
import { type HttpApi, type HttpRoute, pathOf } from "./http-api.ts";
import { REQUEST_ID_HEADER, requestIdOf } from "./id-headers.ts";
import type { OriginCheck } from "./origin.ts";

/** What a request handler is made of. */
export interface RequestHandlerOptions {
  /** Asked in this order for the route of a request. What none of them has is answered by `fallbackApi`. */
  readonly apis: readonly HttpApi[];
  readonly checkHost: HostCheck;
  readonly checkOrigin: OriginCheck;
  /** Undefined: requests need no access key. */
  readonly access?: AccessControl | undefined;
  readonly observers: readonly CallObserver[];
}

/**
 * Handles every request of a listener: finds its route, checks its host, its origin and its access key, serves it, and
 * reports it to observers.
 */
export function createRequestHandler(options: RequestHandlerOptions): HttpHandler {
  const { apis, observers } = options;
  return (request, response) => {
    // Writers get errors by a callback; without a listener the event would end the process.
    response.on("error", () => {});
    const { api, route } = findRoute(apis, request);
    const requestId = requestIdOf(request.headers[REQUEST_ID_HEADER]);
    response.setHeader(REQUEST_ID_HEADER, requestId);
    const verdict = check(options, route, request, response);
    if (verdict === "answered") return;
    const call = createCall({
      rpc: route.name,
      requestId,
      httpVersion: request.httpVersion,
      protocol: route.protocol ?? protocolOf(request),
      caller: verdict.caller,
    });
    const recorder = new CallRecorder(call, route.isObserved ? observers : []);
    if (verdict.rejection !== undefined) recorder.end(api.reject(request, response, verdict.rejection));
    else void route.serve(request, response, recorder).then((outcome) => recorder.end(outcome));
  };
}

/** Whether a request may be served, and for whom. */
interface Verdict {
  readonly caller?: Caller;
  readonly rejection?: Rejection;
}

/** Checks a request before anything of its body is read. Answers it where it is a preflight. */
function check(
  { checkHost, checkOrigin, access }: RequestHandlerOptions,
  { isOpen = false }: HttpRoute,
  request: HttpRequest,
  response: HttpResponse,
): Verdict | "answered" {
  if (!checkHost(request)) return { rejection: forbiddenHost(request.headers.host) };
  const origin = checkOrigin(request, response);
  if (origin === "answered") return origin;
  if (origin === "rejected") return { rejection: FORBIDDEN_ORIGIN };
  if (isOpen || access === undefined) return {};
  const { caller, refusal } = access.admit(request.headers);
  return refusal === undefined ? { caller } : { caller, rejection: rejectionOfError(refusal) };
}

interface FoundRoute {
  readonly api: HttpApi;
  readonly route: HttpRoute;
}

function findRoute(apis: readonly HttpApi[], request: HttpRequest): FoundRoute {
  const path = pathOf(request);
  for (const api of apis) {
    const route = api.find(path, request.method ?? "");
    if (route !== undefined) return { api, route };
  }
  return { api: fallbackApi, route: fallbackApi.find() };
}

const PROTOCOLS: readonly (readonly [RegExp, string])[] = [
  [/^application\/grpc-web(?:-text)?(?:\+|$|;)/, "grpc-web"],
  [/^application\/grpc(?:\+|$|;)/, "grpc"],
  [/^application\/(?:connect\+)?(?:json|proto)(?:$|;)/, "connect"],
];

/** The RPC protocol of a request by its content type; that of a GET without one, as Connect has them, by its query. */
function protocolOf({ headers, url = "" }: HttpRequest): string {
  const type = headers["content-type"];
  if (type === undefined) return /[?&]connect=v1(?:&|$)/.test(url) ? "connect" : "";
  return PROTOCOLS.find(([pattern]) => pattern.test(type))?.[1] ?? "";
}
