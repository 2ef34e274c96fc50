import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { createCounter, type Metric } from "./prometheus.ts";

/** The usage of callers with access keys, as metrics. */
export interface CallerMetrics {
  /** Counts a call that has ended. Has no effect if its caller has no name. */
  end(caller: string, code: string, usage: Usage | undefined): void;
  readonly all: readonly Metric[];
}

/**
 * Maximum number of callers with a separate label. The operator chooses their names, but may change them while the
 * process runs.
 */
const MAX_CALLER_LABELS = 1000;

/** Creates the metrics by caller. Without access keys they have no samples. */
export function createCallerMetrics(): CallerMetrics {
  const requests = createCounter({
    name: "outrigger_caller_requests_total",
    help: "Calls that ended, by the name of the access key and status.",
    labels: ["caller", "code"],
  });
  const tokens = createCounter({
    name: "outrigger_caller_tokens_total",
    help: "Tokens as providers report them, by the name of the access key.",
    labels: ["caller", "direction"],
  });
  const known = new Set<string>();
  const getLabel = (caller: string): string => {
    if (known.has(caller)) return caller;
    if (known.size >= MAX_CALLER_LABELS) return "other";
    known.add(caller);
    return caller;
  };
  return {
    end(caller, code, usage) {
      if (caller === "") return;
      const label = getLabel(caller);
      requests.add([label, code]);
      if (usage === undefined) return;
      tokens.add([label, "input"], usage.inputTokens);
      tokens.add([label, "output"], usage.outputTokens);
    },
    all: [requests, tokens],
  };
}
