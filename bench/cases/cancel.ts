import { EVENTS_AROUND_DELTAS } from "../exchange.ts";
import type { RunningImplementation } from "../implementations/implementation.ts";
import { cancelStreams } from "../load/load.ts";
import type { Sample } from "../measure/metrics.ts";
import type { BenchCase, RoundSettings } from "./case.ts";
import { type RoundContext, runLoadOnce, runLoadRound, STREAM_PATH, type UpstreamShape } from "./round.ts";

const STREAMS = 10_000;
const QUICK_STREAMS = 1_000;
const BURST = 100;
const BYSTANDERS = 5;
const CONNECTIONS = 4;
const DELTAS = 100 - EVENTS_AROUND_DELTAS;
const UPSTREAM: UpstreamShape = { deltas: DELTAS, clocked: true, intervalMs: 20 };

/** Streams that are cancelled, beside streams that are not. */
export const cancel: BenchCase = {
  name: "cancel",
  title: `${STREAMS} streams cancelled after their first event, in bursts of ${BURST} on each of ${CONNECTIONS} connections; ${BYSTANDERS} bystanders on each`,
  maxRounds: 3,
  runRound: (settings) => runLoadRound(settings, UPSTREAM, loadFor(settings)),
  runOnce: (settings) => runLoadOnce(settings, UPSTREAM, loadFor(settings)),
};

function loadFor({ quick }: RoundSettings) {
  return async (
    implementation: RunningImplementation,
    context: RoundContext,
    failures: string[],
  ): Promise<Sample> => {
    const report = await cancelStreams({
      target: implementation.address,
      method: STREAM_PATH,
      request: context.files.binaryRequest,
      streams: quick ? QUICK_STREAMS : STREAMS,
      burst: BURST,
      bystanders: BYSTANDERS,
      connections: CONNECTIONS,
      messages: DELTAS + EVENTS_AROUND_DELTAS,
    });
    const { bystanders, disturbed, lost, cancelled, seconds } = report;
    if (disturbed > 0) {
      const reasons = [...new Set(report.failures)].join("; ");
      failures.push(`${implementation.name}: ${disturbed} of ${bystanders} bystanders disturbed: ${reasons}`);
    }
    return {
      cancelled,
      cancelsPerSecond: cancelled / seconds,
      bystanders,
      bystandersDisturbed: disturbed,
      failed: lost,
    };
  };
}
