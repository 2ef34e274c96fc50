/**
 * Our door with others' services behind it: listener, request handler and transports as
 * src/server/start-server.ts puts them together, so that suites test what ships.
 */

import { createConnectTransport } from "../../src/server/connect/transport.ts";
import { createGrpcTransport } from "../../src/server/grpc/transport.ts";
import { createOriginCheck } from "../../src/server/http/origin.ts";
import { createRequestHandler } from "../../src/server/http/request-handler.ts";
import { type Listener, openListener } from "../../src/server/listen/listener.ts";
import { DEFAULT_LIMITS, type Limits } from "../../src/server/options.ts";
import type { Routes } from "../../src/server/services/services.ts";
import { createCallObserver } from "../../src/server/telemetry/call-observer.ts";
import { createLogger } from "../../src/server/telemetry/logging.ts";
import { createMetrics } from "../../src/server/telemetry/metrics.ts";

/** The address that every server of a suite listens on. */
export const HOST = "127.0.0.1";

/** A server of a suite. */
export interface ForeignServer {
  /** Its port on HOST. */
  readonly port: number;
  /** Cuts off all connections. Resolves when everything is closed. */
  close(): Promise<void>;
}

/** Serves services that are not ours on a free port. Bugs of ours are logged on stderr. */
export async function startForeignServer(
  routes: Routes,
  changes: Partial<Limits> = {},
): Promise<ForeignServer> {
  const limits = { ...DEFAULT_LIMITS, ...changes };
  const logger = createLogger({ level: "error", destination: process.stderr });
  const observer = createCallObserver({ logger, metrics: createMetrics("0.0.0-conformance") });
  const transport = createConnectTransport(routes, limits);
  const listener = await openListener({
    field: "listen",
    addresses: [`${HOST}:0`],
    limits,
    handler: createRequestHandler({ transport, checkOrigin: createOriginCheck(undefined), observer }),
    streams: createGrpcTransport({ routes, limits, observer }),
  });
  return { port: portOf(listener), close: () => listener.close() };
}

function portOf({ addresses: [address = ""] }: Listener): number {
  return Number(address.slice(address.lastIndexOf(":") + 1));
}
