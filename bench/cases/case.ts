import type { Contestant, ContestantName, RunningContestant } from "../contestants/contestant.ts";
import type { Sample } from "../measure/metrics.ts";
import type { CaseName } from "../options.ts";

/** Whoever shows a sample: a contestant, or the calls that go straight to the upstream. */
export type SampleOwner = ContestantName | "direct";

/** What was measured in one round of a case. */
export interface Round {
  readonly samples: Partial<Record<SampleOwner, Sample>>;
  /** What went wrong, for people. */
  readonly failures: readonly string[];
}

/** How a round is run. */
export interface RoundSettings {
  readonly contestants: readonly Contestant[];
  /** Number of the round, from 0: who goes first changes with it. */
  readonly index: number;
  /** Fewer calls and shorter rests. */
  readonly quick: boolean;
  /** Whether a stream of the upstream leaves in one write. */
  readonly whole: boolean;
}

/** A part of the benchmark. */
export interface BenchCase {
  readonly name: CaseName;
  /** What is done, in one line. */
  readonly title: string;
  /** Rounds after which nothing new is learned. Absent: as many as are asked for. */
  readonly mostRounds?: number;
  /** Runs one round with processes of its own. */
  runRound(settings: RoundSettings): Promise<Round>;
  /** Puts a contestant under the load of this case, once, for a profile. */
  exercise(settings: RoundSettings): Promise<void>;
}

/** Turns a list, so that another one is first. */
export function rotate<Item>(list: readonly Item[], by: number): Item[] {
  const at = by % Math.max(list.length, 1);
  return [...list.slice(at), ...list.slice(0, at)];
}

/** Stops all, whatever becomes of one. */
export async function stopAll(running: readonly RunningContestant[]): Promise<void> {
  await Promise.allSettled(running.map((contestant) => contestant.stop()));
}
