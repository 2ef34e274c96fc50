import type { HttpHandler, HttpRequest, HttpResponse } from "../listen/http-types.ts";
import { METRICS_CONTENT_TYPE } from "../telemetry/metrics.ts";

/** What the admin listener tells. */
export interface AdminOptions {
  /** Whether calls are accepted. */
  readonly isReady: () => boolean;
  /** The metrics in Prometheus' text format. */
  readonly renderMetrics: () => string;
  /** Takes what is none of `/livez`, `/readyz` and `/metrics`: health by gRPC. */
  readonly fallback: HttpHandler;
}

/**
 * Answers probes and scrapes. `/livez`: the process answers. `/readyz`: 200, or 503 from the
 * start of a drain; never asks a provider, whose outage is no reason to stop the program beside
 * us. `/metrics`: Prometheus.
 */
export function createAdminHandler({ isReady, renderMetrics, fallback }: AdminOptions): HttpHandler {
  const pages = new Map<string, () => Page>([
    ["/livez", () => plain(200, "ok")],
    ["/readyz", () => (isReady() ? plain(200, "ready") : plain(503, "draining"))],
    ["/metrics", () => ({ status: 200, type: METRICS_CONTENT_TYPE, body: renderMetrics() })],
  ]);
  return (request, response) => {
    const page = pages.get(request.url ?? "");
    if (page === undefined) fallback(request, response);
    else if (request.method === "GET" || request.method === "HEAD") sendPage(request, response, page());
    else sendPage(request, response, plain(405, "takes GET and HEAD"));
  };
}

interface Page {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

function plain(status: number, text: string): Page {
  return { status, type: "text/plain; charset=utf-8", body: `${text}\n` };
}

function sendPage(request: HttpRequest, response: HttpResponse, { status, type, body }: Page): void {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
  response.end(request.method === "HEAD" ? undefined : body);
}
