import type { Logger } from "pino";
import type { Call } from "./call.ts";
import { logCall } from "./logging.ts";
import type { Metrics } from "./metrics.ts";

/** Who hears of every call. */
export interface CallObserver {
  /** A call has arrived. */
  begin(): void;
  /** A call has ended. Once for each `begin`. */
  end(call: Call): void;
}

/** Counts calls and writes their log lines. */
export function createCallObserver(logger: Logger, metrics: Metrics): CallObserver {
  return {
    begin: () => metrics.begin(),
    end(call) {
      const durationMs = performance.now() - call.startedAt;
      metrics.end(call, durationMs);
      logCall(logger, call, durationMs);
    },
  };
}
