import type { SDKError } from "../../core/errors.ts";
import { readTraceContext } from "../../core/trace-context.ts";
import { type AccessControl, type Admission, openAdmission } from "../access/access-control.ts";
import { getRequestPeerName } from "../access/peer-names.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "../base/http-types.ts";
import { type CallObserver, disconnectedOutcome } from "../telemetry/call-observer.ts";
import { CallRecorder, getRequestId, REQUEST_ID_HEADER } from "../telemetry/call-recorder.ts";
import type { HostCheck } from "./host.ts";
import type { OriginCheck } from "./origin.ts";
import {
  FORBIDDEN_ORIGIN,
  forbiddenHost,
  type Rejection,
  sendRejection,
  toErrorRejection,
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
    if (checked instanceof Promise) void checked.then((late) => serveLate(late, request, response));
    else serve(checked, request, response);
  };
}

function serve(
  { route, recorder, rejection }: CheckedRequest,
  request: HttpRequest,
  response: HttpResponse,
): void {
  if (rejection !== undefined) recorder.end(route.reject(request, response, rejection));
  else void route.serve(request, response, recorder).then((outcome) => recorder.end(outcome));
}

/** Serves a request after an asynchronous check, during which its peer may have disconnected. */
function serveLate(checked: CheckedRequest, request: HttpRequest, response: HttpResponse): void {
  const isGone = "stream" in request ? request.stream.closed : request.socket.destroyed;
  if (isGone) checked.recorder.end(disconnectedOutcome());
  else serve(checked, request, response);
}

/** A request whose checks are done. */
export interface CheckedRequest {
  readonly route: Route;
  readonly recorder: CallRecorder;
  /** The reason not to serve the request. */
  readonly rejection: Rejection | undefined;
  /**
   * Counts a further request of the same caller on the connection. Throws SDKError if it is refused, or rejects if
   * sidecars count together.
   */
  readonly admitAgain: () => Promise<void> | undefined;
}

/** The checks that every request of a listener passes before it is served: its route, and whether it is admitted. */
export class RequestChecks {
  readonly #options: RequestHandlerOptions;

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
  }

  /** Returns the route of a request. An unknown path gets a route that rejects it. */
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
   * observers. Answers it if it is a preflight. Returns a promise, which does not reject, if its token has to be
   * verified.
   */
  check(request: HttpRequest, response: HttpResponse): CheckedRequest | Promise<CheckedRequest> | "answered" {
    const { checkHost, checkOrigin, access } = this.#options;
    const { headers } = request;
    const route = this.find(request);
    const requestId = getRequestId(headers[REQUEST_ID_HEADER]);
    response.setHeader(REQUEST_ID_HEADER, requestId);
    if (route.requestIdHeader !== undefined) response.setHeader(route.requestIdHeader, requestId);
    const toChecked = this.#toChecked.bind(this, request, route, requestId);
    if (!checkHost(request)) return toChecked(openAdmission, forbiddenHost(headers.host));
    const origin = checkOrigin(request, response);
    if (origin === "answered") return origin;
    if (origin === "rejected") return toChecked(openAdmission, FORBIDDEN_ORIGIN);
    if (access === undefined || route.isOpen === true) return toChecked(openAdmission);
    const marks = {
      keyInQuery: getKeyInQuery(request, route),
      certificate: getRequestPeerName(request),
    };
    const admission = access.admit(headers, marks);
    return admission instanceof Promise
      ? admission.then((settled) => toChecked(settled))
      : toChecked(admission);
  }

  #toChecked(
    request: HttpRequest,
    route: Route,
    requestId: string,
    admission: Admission,
    rejection?: Rejection,
  ): CheckedRequest {
    const { access, observers } = this.#options;
    const { headers, httpVersion } = request;
    const { caller, refusal } = admission;
    const protocol = route.protocol ?? findProtocol(request);
    const trace = headers.traceparent === undefined ? undefined : readTraceContext(headers);
    const call = { rpc: route.name, requestId, httpVersion, protocol, caller, trace };
    const recorder = new CallRecorder(call, route.isObserved ? observers : []);
    return {
      route,
      recorder,
      rejection: refusal === undefined ? rejection : toErrorRejection(refusal),
      admitAgain() {
        const certificate = getRequestPeerName(request);
        const refusal = access?.admitAgain(admission, headers, { certificate });
        if (refusal instanceof Promise) return refusal.then(throwRefusal);
        throwRefusal(refusal);
        return undefined;
      },
    };
  }
}

function throwRefusal(refusal: SDKError | undefined): void {
  if (refusal !== undefined) throw refusal;
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
