/** One round: an upstream, and all contestants in front of it, each in a process that has just started. */
import { setTimeout as sleep } from "node:timers/promises";
import { type RunningContestant, startContestant } from "../contestants/contestant.ts";
import { type AnswerShape, type ExchangeFiles, writeExchange } from "../exchange.ts";
import { startUpstream } from "../load/load.ts";
import type { Sample } from "../measure/metrics.ts";
import { residentMbOf, watchResident } from "../measure/process-stats.ts";
import { type Round, type RoundSettings, rotate, type SampleOwner, stopAll } from "./case.ts";

/** What a round is played on. */
export interface Arena {
  readonly files: ExchangeFiles;
  /** Host and port of the upstream. */
  readonly upstream: string;
}

/** What a case does with one contestant. It may add to the list of failures. */
export type Play = (contestant: RunningContestant, arena: Arena, failures: string[]) => Promise<Sample>;

/** What the upstream answers in a case. */
export interface UpstreamShape extends AnswerShape {
  /** Milliseconds between two events. */
  readonly intervalMs: number;
}

/** Path of the RPC that streams. */
export const STREAM_PATH = "/outrigger.v1.InferenceService/Stream";

// V8 tidies up in steps when nothing has happened for some seconds.
const REST_MS = 1_500;
const SETTLE_MS = 20_000;
const QUICK_MS = 500;

/**
 * Plays one round: starts everybody, lets them rest, puts one after the other under load, lets
 * them rest again, and looks at their memory before, under and after the load.
 */
export async function playRound(settings: RoundSettings, shape: UpstreamShape, play: Play): Promise<Round> {
  const failures: string[] = [];
  const samples: Partial<Record<SampleOwner, Sample>> = {};
  const files = await writeExchange(shape);
  const { intervalMs } = shape;
  await using upstream = await startUpstream({ script: files.script, intervalMs, whole: settings.whole });
  const running = await startAll(settings, upstream.address);
  try {
    await sleep(settings.quick ? QUICK_MS : REST_MS);
    const rests = new Map(running.map(({ name, pid }) => [name, residentMbOf(pid)]));
    for (const contestant of running) {
      const arena = { files, upstream: upstream.address };
      const atRest = rests.get(contestant.name) ?? Number.NaN;
      try {
        samples[contestant.name] = await watch(contestant, atRest, () => play(contestant, arena, failures));
      } catch (error) {
        // That one dies under a load is a result, too.
        failures.push(`${contestant.name}: ${error}`);
      }
    }
    await sleep(settings.quick ? QUICK_MS : SETTLE_MS);
    for (const { name, pid } of running) {
      const sample = samples[name];
      if (sample !== undefined) samples[name] = { ...sample, ...afterwards(sample, residentMbOf(pid)) };
    }
  } finally {
    await stopAll(running);
  }
  return { samples, failures };
}

/** Puts the first contestant under the load of a case, once, and looks at nothing. */
export async function exerciseRound(
  { contestants: [contestant], whole }: RoundSettings,
  shape: UpstreamShape,
  play: Play,
): Promise<void> {
  if (contestant === undefined) return;
  const files = await writeExchange(shape);
  await using upstream = await startUpstream({ script: files.script, intervalMs: shape.intervalMs, whole });
  const running = await startContestant(contestant, upstream.address);
  try {
    await play(running, { files, upstream: upstream.address }, []);
  } finally {
    await running.stop();
  }
}

async function startAll(
  { contestants, index }: RoundSettings,
  upstream: string,
): Promise<RunningContestant[]> {
  const running: RunningContestant[] = [];
  // One after the other, so that none is slowed down by the start of another.
  for (const contestant of rotate(contestants, index)) {
    running.push(await startContestant(contestant, upstream));
  }
  return running;
}

async function watch(
  { pid, startMs }: RunningContestant,
  residentAtRest: number,
  play: () => Promise<Sample>,
): Promise<Sample> {
  const stopWatching = watchResident(pid);
  try {
    const sample = await play();
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
