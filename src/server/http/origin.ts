/**
 * Decides which browsers may call. The data listener is on loopback, and any page that a user has open can reach it
 * there, also by DNS rebinding. So a request with an `Origin` is rejected unless that origin is allowed. Programs send
 * no `Origin`.
 */
import { cors } from "@connectrpc/connect";
import type { HttpRequest, HttpResponse } from "../base/http-types.ts";

/** Which browsers may call. */
export interface CorsOptions {
  /** Origins as browsers send them, for instance `https://app.example`; `*` means all. */
  readonly allowedOrigins: readonly string[];
}

/** The result of the check: the request may continue, it was a preflight and is answered, or it must be rejected. */
export type OriginVerdict = "pass" | "answered" | "rejected";

/**
 * Checks the `Origin` of a request, answers preflights, and sets the headers by which an allowed page may read the
 * response.
 */
export type OriginCheck = (request: HttpRequest, response: HttpResponse) => OriginVerdict;

/** @param options Undefined if no origin is allowed. */
export function createOriginCheck(options: CorsOptions | undefined): OriginCheck {
  const allowed = new Set(options?.allowedOrigins ?? []);
  return (request, response) => {
    const { origin } = request.headers;
    if (origin === undefined) return "pass";
    if (!allowed.has(origin) && !allowed.has("*")) return "rejected";
    response.setHeader("access-control-allow-origin", origin);
    response.setHeader("vary", "origin");
    response.setHeader("access-control-expose-headers", EXPOSED_HEADERS);
    if (!isPreflight(request)) return "pass";
    answerPreflight(response);
    return "answered";
  };
}

/**
 * All headers of requests without cookies. SDKs send and read many, and relayed answers have the provider's headers.
 */
const ALL_HEADERS = "*";

/** gRPC-Web has its status in headers. The names are for browsers that do not know the asterisk. */
const EXPOSED_HEADERS = [...cors.exposedHeaders, ALL_HEADERS].join(", ");

/** The asterisk does not include `authorization`. */
const ALLOWED_HEADERS = [...cors.allowedHeaders, "authorization", ALL_HEADERS].join(", ");

/** With DELETE for stored responses and conversations. */
const ALLOWED_METHODS = [...cors.allowedMethods, "DELETE"].join(", ");

const PREFLIGHT_MAX_AGE_SECONDS = "7200";

function isPreflight({ method, headers }: HttpRequest): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

function answerPreflight(response: HttpResponse): void {
  response.setHeader("access-control-allow-methods", ALLOWED_METHODS);
  response.setHeader("access-control-allow-headers", ALLOWED_HEADERS);
  response.setHeader("access-control-max-age", PREFLIGHT_MAX_AGE_SECONDS);
  response.statusCode = 204;
  response.end();
}
