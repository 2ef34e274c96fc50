/** One round: an upstream, and all implementations in front of it, each in a process that has just started. */
import { setTimeout as sleep } from "node:timers/promises";
import { type AnswerShape, type ExchangeFiles, writeExchange } from "../exchange.ts";
import { type RunningImplementation, startImplementation } from "../implementations/implementation.ts";
import { startUpstream } from "../load/load.ts";
import type { Sample } from "../measure/metrics.ts";
import { readResidentMb, watchResident } from "../measure/process-stats.ts";
import { type Round, type RoundSettings, rotate, type SampleOwner, stopAll } from "./case.ts";

/** The context for putting load on an implementation. */
export interface RoundContext {
  readonly files: ExchangeFiles;
  /** Host and port of the upstream. */
  readonly upstream: string;
}

/** Puts load on one implementation and measures it. It may add to the list of failures. */
export type ApplyLoad = (
  implementation: RunningImplementation,
  context: RoundContext,
  failures: string[],
) => Promise<Sample>;

/** The answers of the upstream in a case. */
export interface UpstreamShape extends AnswerShape {
  /** Milliseconds between two events. */
  readonly intervalMs: number;
}

/** Path of the RPC that streams. */
export const STREAM_PATH = "/outrigger.v1.InferenceService/Stream";

// V8 collects garbage in steps after some idle seconds, the sidecar after three seconds without work.
const REST_MS = 8_000;
const SETTLE_MS = 20_000;
const QUICK_MS = 500;

/**
 * Runs one round: starts all implementations, lets them idle, puts load on one after the other, lets
 * them idle again, and reads their memory before, during and after the load.
 */
export async function runLoadRound(
  settings: RoundSettings,
  shape: UpstreamShape,
  applyLoad: ApplyLoad,
): Promise<Round> {
  const failures: string[] = [];
  const samples: Partial<Record<SampleOwner, Sample>> = {};
  const files = await writeExchange(shape);
  const { intervalMs } = shape;
  await using upstream = await startUpstream({ script: files.script, intervalMs, whole: settings.whole });
  const running = await startAll(settings, upstream.address);
  try {
    await sleep(settings.quick ? QUICK_MS : REST_MS);
    const rests = new Map(running.map(({ name, pid }) => [name, readResidentMb(pid)]));
    for (const implementation of running) {
      const context = { files, upstream: upstream.address };
      const atRest = rests.get(implementation.name) ?? Number.NaN;
      try {
        samples[implementation.name] = await watch(implementation, atRest, () =>
          applyLoad(implementation, context, failures),
        );
      } catch (error) {
        // An implementation that dies under load is a result, too.
        failures.push(`${implementation.name}: ${error}`);
      }
    }
    await sleep(settings.quick ? QUICK_MS : SETTLE_MS);
    for (const { name, pid } of running) {
      const sample = samples[name];
      if (sample !== undefined) samples[name] = { ...sample, ...afterwards(sample, readResidentMb(pid)) };
    }
  } finally {
    await stopAll(running);
  }
  return { samples, failures };
}

/** Puts load on the first implementation once, without measuring. */
export async function runLoadOnce(
  { implementations: [implementation], whole }: RoundSettings,
  shape: UpstreamShape,
  applyLoad: ApplyLoad,
): Promise<void> {
  if (implementation === undefined) return;
  const files = await writeExchange(shape);
  await using upstream = await startUpstream({ script: files.script, intervalMs: shape.intervalMs, whole });
  const running = await startImplementation(implementation, upstream.address);
  try {
    await applyLoad(running, { files, upstream: upstream.address }, []);
  } finally {
    await running.stop();
  }
}

async function startAll(
  { implementations, index }: RoundSettings,
  upstream: string,
): Promise<RunningImplementation[]> {
  const running: RunningImplementation[] = [];
  // Sequentially, so that no start slows down another.
  for (const implementation of rotate(implementations, index)) {
    running.push(await startImplementation(implementation, upstream));
  }
  return running;
}

async function watch(
  { pid, startMs }: RunningImplementation,
  residentAtRest: number,
  applyLoad: () => Promise<Sample>,
): Promise<Sample> {
  const stopWatching = watchResident(pid);
  try {
    const sample = await applyLoad();
    const residentPeak = stopWatching();
    return {
      startMs,
      residentAtRest,
      residentPeak,
      residentGrowth: residentPeak - residentAtRest,
      ...(sample.residentHeld === undefined
        ? {}
        : { residentHeldGrowth: sample.residentHeld - residentAtRest }),
      ...sample,
    };
  } finally {
    stopWatching();
  }
}

function afterwards({ residentAtRest = Number.NaN }: Sample, residentAfter: number): Sample {
  return { residentAfter, residentKept: (residentAfter / residentAtRest - 1) * 100 };
}
