import type { RunningContestant } from "../contestants/contestant.ts";
import { EVENTS_AROUND_DELTAS } from "../exchange.ts";
import { cancelStreams } from "../load/load.ts";
import type { Sample } from "../measure/metrics.ts";
import { type Arena, exerciseRound, playRound, STREAM_PATH, type UpstreamShape } from "./arena.ts";
import type { BenchCase, RoundSettings } from "./case.ts";

const STREAMS = 10_000;
const QUICK_STREAMS = 1_000;
const BURST = 100;
const BYSTANDERS = 5;
const CONNECTIONS = 4;
const DELTAS = 100 - EVENTS_AROUND_DELTAS;
const UPSTREAM: UpstreamShape = { deltas: DELTAS, clocked: true, intervalMs: 20 };

/** Callers that change their mind, beside callers that do not. */
export const cancel: BenchCase = {
  name: "cancel",
  title: `${STREAMS} streams cancelled after their first event, in bursts of ${BURST} on each of ${CONNECTIONS} connections; ${BYSTANDERS} bystanders on each`,
  mostRounds: 3,
  runRound: (settings) => playRound(settings, UPSTREAM, playWith(settings)),
  exercise: (settings) => exerciseRound(settings, UPSTREAM, playWith(settings)),
};

function playWith({ quick }: RoundSettings) {
  return async (contestant: RunningContestant, arena: Arena, failures: string[]): Promise<Sample> => {
    const report = await cancelStreams({
      target: contestant.address,
      method: STREAM_PATH,
      request: arena.files.grpcRequest,
      streams: quick ? QUICK_STREAMS : STREAMS,
      burst: BURST,
      bystanders: BYSTANDERS,
      connections: CONNECTIONS,
      messages: DELTAS + EVENTS_AROUND_DELTAS,
    });
    const { bystanders, disturbed, lost, cancelled, seconds } = report;
    if (disturbed > 0) {
      const reasons = [...new Set(report.failures)].join("; ");
      failures.push(`${contestant.name}: ${disturbed} of ${bystanders} bystanders disturbed: ${reasons}`);
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
