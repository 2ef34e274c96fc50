import type { Logger } from "pino";
import type { Call } from "./call.ts";
import type { IdleMemory } from "./idle-memory.ts";
import { isProbe, logCall } from "./logging.ts";
import type { Metrics } from "./metrics.ts";

/** Who hears of every call. */
export interface CallObserver {
  /** A call has arrived. */
  begin(call: Call): void;
  /** A call has ended. Once for each `begin`. */
  end(call: Call): void;
}

/** What hears of calls. */
export interface CallObserverOptions {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly idleMemory?: IdleMemory | undefined;
}

/** Counts calls and writes their log lines. Probes are no load: a sidecar that is only watched is idle. */
export function createCallObserver({ logger, metrics, idleMemory }: CallObserverOptions): CallObserver {
  return {
    begin({ rpc }) {
      metrics.begin();
      if (!isProbe(rpc)) idleMemory?.note();
    },
    end(call) {
      const durationMs = performance.now() - call.startedAt;
      metrics.end(call, durationMs);
      logCall(logger, call, durationMs);
      if (!isProbe(call.rpc)) idleMemory?.note();
    },
  };
}
