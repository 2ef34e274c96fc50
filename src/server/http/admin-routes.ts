import type { HttpRequest, HttpResponse } from "../base/http-types.ts";
import type { TransportOutcome } from "../telemetry/call-observer.ts";
import { METRICS_CONTENT_TYPE } from "../telemetry/metrics.ts";
import type { FindRoute, Route } from "./route.ts";

/** The data of the admin pages. */
export interface AdminOptions {
  /** Whether calls are accepted. */
  readonly isReady: () => boolean;
  /** The metrics in Prometheus' text format; undefined if there is no `/metrics`. */
  readonly renderMetrics: (() => string) | undefined;
}

/**
 * Serves the pages for probes and scrapes. `/livez`: the process answers. `/readyz`: 200, or 503 from the start of a
 * drain; it never depends on a provider, whose outage is no reason to stop the service that uses this sidecar.
 * `/metrics`: Prometheus.
 */
export function createAdminRoutes({ isReady, renderMetrics }: AdminOptions): FindRoute {
  const pages = [
    toRoute("/livez", () => plain(200, "ok")),
    toRoute("/readyz", () => (isReady() ? plain(200, "ready") : plain(503, "draining"))),
  ];
  if (renderMetrics !== undefined)
    pages.push(
      toRoute("/metrics", () => ({ status: 200, type: METRICS_CONTENT_TYPE, body: renderMetrics() })),
    );
  const routes = new Map(pages.map((route) => [route.name, route]));
  return (path, method) => {
    const route = routes.get(path);
    return route === undefined || method === "GET" || method === "HEAD" ? route : WRONG_METHOD;
  };
}

interface Page {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const OK: TransportOutcome = { code: undefined, disconnected: false };

const WRONG_METHOD = toRoute("wrong method", () => plain(405, "takes GET and HEAD"));

function toRoute(name: string, page: () => Page): Route {
  return {
    name,
    isObserved: false,
    async serve(request, response) {
      sendPage(request, response, page());
      return OK;
    },
    reject(request, response, { status, code, message }) {
      sendPage(request, response, plain(status, message));
      return { code, disconnected: false };
    },
  };
}

function plain(status: number, text: string): Page {
  return { status, type: "text/plain; charset=utf-8", body: `${text}\n` };
}

function sendPage(request: HttpRequest, response: HttpResponse, { status, type, body }: Page): void {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
  response.end(request.method === "HEAD" ? undefined : body);
}
