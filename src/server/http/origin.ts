/**
 * Decides which browsers may call. The data listener is on loopback, and any page that a user has open can reach it
 * there, also by DNS rebinding. So a request that names its origin is rejected unless that origin is allowed. Programs
 * name none.
 */
import { cors } from "@connectrpc/connect";
import { SDK_HEADERS } from "../../endpoints/sdk-headers.ts";
import { WARNINGS_HEADER } from "../../http/warnings-header.ts";
import type { HttpRequest, HttpResponse } from "../base/http-types.ts";
import { RETRY_AFTER_HEADER, RETRY_PUSHBACK_TRAILER } from "../status/status.ts";
import { INFERENCE_ID_HEADER, REQUEST_ID_HEADER } from "../telemetry/call-ids.ts";

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

const EXPOSED_HEADERS = [
  ...cors.exposedHeaders,
  REQUEST_ID_HEADER,
  INFERENCE_ID_HEADER,
  RETRY_AFTER_HEADER,
  RETRY_PUSHBACK_TRAILER,
  WARNINGS_HEADER,
].join(", ");

const ALLOWED_HEADERS = [
  ...cors.allowedHeaders,
  "authorization",
  "accept",
  REQUEST_ID_HEADER,
  ...SDK_HEADERS,
].join(", ");
const PREFLIGHT_MAX_AGE_SECONDS = "7200";

function isPreflight({ method, headers }: HttpRequest): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

function answerPreflight(response: HttpResponse): void {
  response.setHeader("access-control-allow-methods", cors.allowedMethods.join(", "));
  response.setHeader("access-control-allow-headers", ALLOWED_HEADERS);
  response.setHeader("access-control-max-age", PREFLIGHT_MAX_AGE_SECONDS);
  response.statusCode = 204;
  response.end();
}
