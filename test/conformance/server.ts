/** Our server with services of the suites, so that the suites test what ships. */
import type { Limits } from "../../src/server/base/limits.ts";
import type { Service } from "../../src/server/calls/service.ts";
import { startServer } from "../../src/server/start-server.ts";
import { createCallLog, createLogger } from "../../src/server/telemetry/logging.ts";
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

/** Serves services on a free port. Bugs of ours are logged on stderr. */
export async function startForeignServer(
  services: readonly Service[],
  limits: Partial<Limits> = {},
): Promise<ForeignServer> {
  const logger = createLogger({ level: "error", destination: process.stderr });
  const metrics = createMetrics({ version: "0.0.0-conformance" });
  const { addresses, close } = await startServer({
    listeners: { data: { addresses: [`${HOST}:0`] }, limits },
    services,
    observers: [metrics, createCallLog(logger)],
    reflection: false,
    logger,
  });
  const [address = ""] = addresses;
  return { port: Number(address.slice(address.lastIndexOf(":") + 1)), close };
}
