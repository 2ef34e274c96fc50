import type {
  Implementation,
  ImplementationName,
  RunningImplementation,
} from "../implementations/implementation.ts";
import type { Sample } from "../measure/metrics.ts";
import type { CaseName } from "../options.ts";

/** The source of a sample: an implementation, or the calls that go directly to the upstream. */
export type SampleOwner = ImplementationName | "direct";

/** The measurements of one round of a case. */
export interface Round {
  readonly samples: Partial<Record<SampleOwner, Sample>>;
  /** Descriptions of failures. */
  readonly failures: readonly string[];
}

/** How a round is run. */
export interface RoundSettings {
  readonly implementations: readonly Implementation[];
  /** Number of the round, from 0, which determines the order of the implementations. */
  readonly index: number;
  /** Fewer calls and shorter pauses. */
  readonly quick: boolean;
  /** Whether the upstream sends each stream in one write. */
  readonly whole: boolean;
}

/** A part of the benchmark. */
export interface BenchCase {
  readonly name: CaseName;
  /** Description in one line. */
  readonly title: string;
  /** Whether it compares Outrigger with the gateways of others instead of the other programs of this project. */
  readonly besideGateways?: boolean;
  /** Maximum number of rounds. Absent: as many as requested. */
  readonly maxRounds?: number;
  /** Runs one round with new processes. */
  runRound(settings: RoundSettings): Promise<Round>;
  /** Puts the load of this case on an implementation once, for a profile. */
  runOnce(settings: RoundSettings): Promise<void>;
}

/** Rotates a list. */
export function rotate<Item>(list: readonly Item[], by: number): Item[] {
  const at = by % Math.max(list.length, 1);
  return [...list.slice(at), ...list.slice(0, at)];
}

/** Stops all implementations, even if stopping one fails. */
export async function stopAll(running: readonly RunningImplementation[]): Promise<void> {
  await Promise.allSettled(running.map((implementation) => implementation.stop()));
}
