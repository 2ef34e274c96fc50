import { setTimeout as sleep } from "node:timers/promises";
import type { RunningContestant } from "../contestants/contestant.ts";
import { type StallReport, stallStreams } from "../load/load.ts";
import type { Sample } from "../measure/metrics.ts";
import { cpuMicrosOf, residentMbOf } from "../measure/process-stats.ts";
import { type Arena, exerciseRound, playRound, STREAM_PATH, type UpstreamShape } from "./arena.ts";
import type { BenchCase } from "./case.ts";

const STREAMS = 500;
const CONNECTIONS = 4;

// Far more than the windows, the sockets and the buffers of a contestant hold.
const UPSTREAM: UpstreamShape = { deltas: 10_000, clocked: false, intervalMs: 0 };

/** Readers that ask and never read, in front of an upstream that has plenty to say. */
export const stalled: BenchCase = {
  name: "stalled",
  title: `${STREAMS} streams whose callers stop reading after 4 KiB, of 10,000 events each`,
  mostRounds: 3,
  runRound: (settings) => playRound(settings, UPSTREAM, stall),
  exercise: (settings) => exerciseRound(settings, UPSTREAM, stall),
};

async function stall(contestant: RunningContestant, arena: Arena, failures: string[]): Promise<Sample> {
  const paused = await stallStreams({
    target: contestant.address,
    method: STREAM_PATH,
    request: arena.files.grpcRequest,
    streams: STREAMS,
    connections: CONNECTIONS,
  });
  await untilIdle(contestant.pid);
  await sleep(STILL_MS);
  const residentHeld = residentMbOf(contestant.pid);
  const report: StallReport = JSON.parse(await paused.resume());
  if (report.ended > 0) {
    failures.push(`${contestant.name}: ${report.ended} streams ended: ${report.failures.join("; ")}`);
  }
  return { residentHeld, failed: report.ended };
}

/** How long all stand still before memory is read, as long as after a load. */
const STILL_MS = 20_000;
const LOOK_MS = 500;
const IDLE_PART = 0.05;
const LONGEST_LOOKS = 60;

/** Waits until a process does hardly anything: it may read on although its callers do not. At most 30 s. */
async function untilIdle(pid: number): Promise<void> {
  for (let looks = 0; looks < LONGEST_LOOKS; looks++) {
    const before = cpuMicrosOf(pid);
    await sleep(LOOK_MS);
    if (cpuMicrosOf(pid) - before < LOOK_MS * 1000 * IDLE_PART) return;
  }
}
