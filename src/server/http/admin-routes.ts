import type { HttpRequest, HttpResponse } from "../base/http-types.ts";
import type { TransportOutcome } from "../telemetry/call-observer.ts";
import { METRICS_CONTENT_TYPE } from "../telemetry/metrics.ts";
import type { FindRoute, Route } from "./route.ts";

/** The data of the admin pages. */
export interface AdminOptions {
  /** Whether calls are accepted. */
  readonly isReady: () => boolean;
  /** Returns what is degraded, one line each, for `/readyz?verbose`. Other calls are served. */
  readonly listProblems: () => readonly string[];
  /** The metrics in Prometheus' text format; undefined if there is no `/metrics`. */
  readonly renderMetrics: (() => string) | undefined;
}

/**
 * Serves the pages for probes and scrapes. `/livez`: the process answers. `/readyz`: 200, or 503 from the start of a
 * drain; it never depends on a provider or a database, whose outage is no reason to stop the service that uses this
 * sidecar. With the parameter `verbose` it names what is degraded. `/metrics`: Prometheus.
 */
export function createAdminRoutes({ isReady, listProblems, renderMetrics }: AdminOptions): FindRoute {
  const readyPage = (isVerbose: boolean) => {
    if (!isReady()) return plain(503, "draining");
    const problems = isVerbose ? listProblems() : [];
    if (problems.length === 0) return plain(200, "ready");
    return plain(200, ["ready, degraded", ...problems.map((problem) => `[-] ${problem}`)].join("\n"));
  };
  const pages = [
    toRoute("/livez", () => plain(200, "ok")),
    toRoute("/readyz", ({ url = "" }) => readyPage(IS_VERBOSE.test(url))),
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

const IS_VERBOSE = /[?&]verbose(?:[=&]|$)/;

const OK: TransportOutcome = { code: undefined, disconnected: false };

const WRONG_METHOD = toRoute("wrong method", ({ method }) =>
  plain(405, `the method ${method} is not supported, expected GET or HEAD`),
);

function toRoute(name: string, page: (request: HttpRequest) => Page): Route {
  return {
    name,
    isObserved: false,
    async serve(request, response) {
      sendPage(request, response, page(request));
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
