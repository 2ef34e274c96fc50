import { readTraceContext } from "../../core/trace-context.ts";
import { type AccessControl, openAdmission } from "../access/access-control.ts";
import { getRequestPeerName } from "../access/peer-names.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "../base/http-types.ts";
import { getRequestId, REQUEST_ID_HEADER } from "../telemetry/call-ids.ts";
import type { CallObserver } from "../telemetry/call-observer.ts";
import { CallRecorder } from "../telemetry/call-recorder.ts";
import type { HostCheck } from "./host.ts";
import type { OriginCheck } from "./origin.ts";
import {
  FORBIDDEN_ORIGIN,
  forbiddenHost,
  type Rejection,
  rejectionOfError,
  sendRejection,
  unknownPath,
} from "./rejection.ts";
import { type FindRoute, getKeyInQuery, getPath, type Route } from "./route.ts";

/** The parts of a request handler. */
export interface RequestHandlerOptions {
  /** Asked in this order for the route of a request. */
  readonly routes: readonly FindRoute[];
  readonly checkHost: HostCheck;
  readonly checkOrigin: OriginCheck;
  /** Undefined if requests need no access key. */
  readonly access?: AccessControl | undefined;
  readonly observers: readonly CallObserver[];
}

/** Creates the handler that serves the requests of a listener by their routes. */
export function createRequestHandler(checks: RequestChecks): HttpHandler {
  return (request, response) => {
    // Writers get errors by a callback; without a listener the event would end the process.
    response.on("error", () => {});
    const checked = checks.check(request, response);
    if (checked === "answered") return;
    const { route, recorder, rejection } = checked;
    if (rejection !== undefined) recorder.end(route.reject(request, response, rejection));
    else void route.serve(request, response, recorder).then((outcome) => recorder.end(outcome));
  };
}

/** A request whose checks are done. */
export interface CheckedRequest {
  readonly route: Route;
  readonly recorder: CallRecorder;
  /** The reason not to serve the request. */
  readonly rejection: Rejection | undefined;
}

/** The checks that every request of a listener passes before it is served: its route, and whether it is admitted. */
export class RequestChecks {
  readonly #options: RequestHandlerOptions;

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
  }

  /** Returns the route of a request. A path that has none gets a route that says so. */
  find(request: HttpRequest): Route {
    const path = getPath(request);
    for (const find of this.#options.routes) {
      const route = find(path, request.method ?? "");
      if (route !== undefined) return route;
    }
    return UNKNOWN;
  }

  /**
   * Checks the host, the origin and the access key of a request before its body is read, and begins to report it to
   * observers. Answers it if it is a preflight.
   */
  check(request: HttpRequest, response: HttpResponse): CheckedRequest | "answered" {
    const { checkHost, checkOrigin, access, observers } = this.#options;
    const { headers, httpVersion } = request;
    const route = this.find(request);
    const requestId = getRequestId(headers[REQUEST_ID_HEADER]);
    response.setHeader(REQUEST_ID_HEADER, requestId);
    let admission = openAdmission;
    let rejection: Rejection | undefined;
    if (!checkHost(request)) rejection = forbiddenHost(headers.host);
    else {
      const origin = checkOrigin(request, response);
      if (origin === "answered") return origin;
      if (origin === "rejected") rejection = FORBIDDEN_ORIGIN;
      else if (access !== undefined && route.isOpen !== true)
        admission = access.admit(headers, {
          keyInQuery: getKeyInQuery(request, route),
          certificate: getRequestPeerName(request),
        });
    }
    const { caller, refusal } = admission;
    if (refusal !== undefined) rejection = rejectionOfError(refusal);
    const protocol = route.protocol ?? findProtocol(request);
    const trace = readTraceContext(headers);
    const call = { rpc: route.name, requestId, httpVersion, protocol, caller, trace };
    const recorder = new CallRecorder(call, route.isObserved ? observers : []);
    return { route, recorder, rejection };
  }

  /** Counts a further request of the caller of a request. Throws SDKError if it is refused. */
  admitAgain(request: HttpRequest): void {
    const certificate = getRequestPeerName(request);
    const refusal = this.#options.access?.admit(request.headers, { certificate }).refusal;
    if (refusal !== undefined) throw refusal;
  }
}

const PROTOCOLS: readonly (readonly [RegExp, string])[] = [
  [/^application\/grpc-web(?:-text)?(?:\+|$|;)/, "grpc-web"],
  [/^application\/grpc(?:\+|$|;)/, "grpc"],
  [/^application\/(?:connect\+)?(?:json|proto)(?:$|;)/, "connect"],
];

/**
 * Returns the RPC protocol of a request by its content type, or by its query for Connect's GET without a content type.
 */
function findProtocol({ headers, url = "" }: HttpRequest): string {
  const type = headers["content-type"];
  if (type === undefined) return /[?&]connect=v1(?:&|$)/.test(url) ? "connect" : "";
  return PROTOCOLS.find(([pattern]) => pattern.test(type))?.[1] ?? "";
}

const UNKNOWN: Route = {
  name: "unknown",
  isObserved: true,
  serve: async (request, response) => sendRejection(request, response, unknownPath(getPath(request))),
  reject: sendRejection,
};
