import { setTimeout as sleep } from "node:timers/promises";
import type { RunningImplementation } from "../implementations/implementation.ts";
import { type StallReport, stallStreams } from "../load/load.ts";
import type { Sample } from "../measure/metrics.ts";
import { readCpuMicros, readResidentMb } from "../measure/process-stats.ts";
import type { BenchCase } from "./case.ts";
import { type RoundContext, runLoadOnce, runLoadRound, STREAM_PATH, type UpstreamShape } from "./round.ts";

const STREAMS = 500;
const CONNECTIONS = 4;

// Far more than fits into flow-control windows, sockets and buffers.
const UPSTREAM: UpstreamShape = { deltas: 10_000, clocked: false, intervalMs: 0 };

/** Callers that never read, with an upstream that sends long answers. */
export const stalled: BenchCase = {
  name: "stalled",
  title: `${STREAMS} streams whose callers stop reading after 4 KiB, of 10,000 events each`,
  maxRounds: 3,
  runRound: (settings) => runLoadRound(settings, UPSTREAM, stall),
  runOnce: (settings) => runLoadOnce(settings, UPSTREAM, stall),
};

async function stall(
  implementation: RunningImplementation,
  context: RoundContext,
  failures: string[],
): Promise<Sample> {
  const paused = await stallStreams({
    target: implementation.address,
    method: STREAM_PATH,
    request: context.files.binaryRequest,
    streams: STREAMS,
    connections: CONNECTIONS,
  });
  await untilIdle(implementation.pid);
  await sleep(STILL_MS);
  const residentHeld = readResidentMb(implementation.pid);
  const report: StallReport = JSON.parse(await paused.resume());
  if (report.ended > 0) {
    failures.push(`${implementation.name}: ${report.ended} streams ended: ${report.failures.join("; ")}`);
  }
  return { residentHeld, failed: report.ended };
}

/** Idle time before memory is read, the same as after a load. */
const STILL_MS = 20_000;
const LOOK_MS = 500;
const IDLE_PART = 0.05;
const LONGEST_LOOKS = 60;

/** Waits until a process is nearly idle, since it may keep reading although its callers do not. At most 30 s. */
async function untilIdle(pid: number): Promise<void> {
  for (let looks = 0; looks < LONGEST_LOOKS; looks++) {
    const before = readCpuMicros(pid);
    await sleep(LOOK_MS);
    if (readCpuMicros(pid) - before < LOOK_MS * 1000 * IDLE_PART) return;
  }
}
