import type { Caller } from "../../core/caller.ts";
import type { AccessControl } from "../access/access-control.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "../base/http-types.ts";
import { getRequestId, REQUEST_ID_HEADER } from "../base/id-headers.ts";
import { createCall } from "../telemetry/call.ts";
import type { CallObserver } from "../telemetry/call-observer.ts";
import { CallRecorder } from "../telemetry/call-recorder.ts";
import { readTraceContext } from "../telemetry/trace-context.ts";
import type { HostCheck } from "./host.ts";
import { getPath, type HttpApi, type HttpRoute } from "./http-api.ts";
import type { OriginCheck } from "./origin.ts";
import {
  FORBIDDEN_ORIGIN,
  forbiddenHost,
  type Rejection,
  rejectionOfError,
  sendRejection,
  unknownPath,
} from "./rejection.ts";

/** The parts of a request handler. */
export interface RequestHandlerOptions {
  /** Asked in this order for the route of a request. A request without a route is answered by `fallbackApi`. */
  readonly apis: readonly HttpApi[];
  readonly checkHost: HostCheck;
  readonly checkOrigin: OriginCheck;
  /** Undefined if requests need no access key. */
  readonly access?: AccessControl | undefined;
  readonly observers: readonly CallObserver[];
}

export function createRequestHandler(checks: RequestChecks): HttpHandler {
  return (request, response) => {
    // Writers get errors by a callback; without a listener the event would end the process.
    response.on("error", () => {});
    const checked = checks.check(request, response);
    if (checked === "answered") return;
    const { found, recorder, rejection } = checked;
    const { api, route } = found;
    if (rejection !== undefined) recorder.end(api.reject(request, response, rejection));
    else void route.serve(request, response, recorder).then((outcome) => recorder.end(outcome));
  };
}

/** The checks that every request of a listener passes before it is served: its route, and whether it is admitted. */
export class RequestChecks {
  readonly #options: RequestHandlerOptions;

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
  }

  /** Returns the route of a request. */
  find(request: HttpRequest): FoundRoute {
    return findRoute(this.#options.apis, request);
  }

  /** Checks the host, the origin and the access key of a request, and begins to report it to observers. */
  check(request: HttpRequest, response: HttpResponse): CheckedRequest | "answered" {
    const found = this.find(request);
    const { route } = found;
    const requestId = getRequestId(request.headers[REQUEST_ID_HEADER]);
    response.setHeader(REQUEST_ID_HEADER, requestId);
    const verdict = check(this.#options, route, request, response);
    if (verdict === "answered") return verdict;
    const call = createCall({
      rpc: route.name,
      requestId,
      httpVersion: request.httpVersion,
      protocol: route.protocol ?? createProtocol(request),
      caller: verdict.caller,
      trace: readTraceContext(request.headers),
    });
    const recorder = new CallRecorder(call, route.isObserved ? this.#options.observers : []);
    return { found, recorder, rejection: verdict.rejection };
  }

  /** Counts a further request of the caller of a request. Throws SDKError if it is refused. */
  admitAgain({ headers }: HttpRequest): void {
    const refusal = this.#options.access?.admit(headers).refusal;
    if (refusal !== undefined) throw refusal;
  }
}

/** A request whose checks are done. */
export interface CheckedRequest {
  readonly found: FoundRoute;
  readonly recorder: CallRecorder;
  /** The reason not to serve the request. */
  readonly rejection: Rejection | undefined;
}

/** Whether a request may be served, and its caller. */
interface Verdict {
  readonly caller?: Caller;
  readonly rejection?: Rejection;
}

/** Checks a request before its body is read. Answers it if it is a preflight. */
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

/** A route, and the API that has it. */
export interface FoundRoute {
  readonly api: HttpApi;
  readonly route: HttpRoute;
}

function findRoute(apis: readonly HttpApi[], request: HttpRequest): FoundRoute {
  const path = getPath(request);
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

/**
 * Returns the RPC protocol of a request by its content type, or by its query for Connect's GET without a content type.
 */
function createProtocol({ headers, url = "" }: HttpRequest): string {
  const type = headers["content-type"];
  if (type === undefined) return /[?&]connect=v1(?:&|$)/.test(url) ? "connect" : "";
  return PROTOCOLS.find(([pattern]) => pattern.test(type))?.[1] ?? "";
}

const UNKNOWN: HttpRoute = {
  name: "unknown",
  isObserved: true,
  serve: async (request, response) => sendRejection(request, response, unknownPath(getPath(request))),
};

/** Takes every request that no other API takes, and answers that there is nothing at its path. */
const fallbackApi = { find: () => UNKNOWN, reject: sendRejection } satisfies HttpApi;
