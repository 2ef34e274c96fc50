import type { Logger } from "pino";
import type { Metrics } from "../telemetry/metrics.ts";

/** Shortest time between two lines about refused connections, in milliseconds. */
const INTERVAL_MS = 10_000;

/** Counts the connections that a listener refuses, and logs many refusals in one line. */
export function createRefusalReport(
  listener: "data" | "admin",
  limit: number,
  {
    logger,
    metrics,
  }: { readonly logger: Logger; readonly metrics?: Pick<Metrics, "connectionRefused"> | undefined },
): () => void {
  let count = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return () => {
    count += 1;
    metrics?.connectionRefused(listener);
    if (performance.now() - loggedAt < INTERVAL_MS) return;
    loggedAt = performance.now();
    logger.warn({ listener, limit, refused: count }, "too many connections");
    count = 0;
  };
}
