import type { Logger } from "pino";
import type { Listener } from "./listen/listener.ts";
import type { Health } from "./services/health-service.ts";

/** What is let go. */
export interface DrainOptions {
  readonly health: Health;
  readonly listener: Listener;
  /** Longest wait for calls in flight. */
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/**
 * Lets a listener go: not ready, watches end, no new calls, calls in flight finish; after the
 * time-out what is left is cut off. Resolves when its last connection is closed.
 */
export async function drain({ health, listener, timeoutMs, logger }: DrainOptions): Promise<void> {
  logger.info({ timeout_ms: timeoutMs }, "draining");
  health.shutDown();
  const timer = setTimeout(() => {
    logger.warn({ timeout_ms: timeoutMs }, "drain timed out, cutting off calls in flight");
    void listener.close();
  }, timeoutMs);
  await listener.drain();
  clearTimeout(timer);
  logger.info("drained");
}
