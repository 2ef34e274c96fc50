import type { SeededRandom } from "./seeded-random.ts";

/** The source of an instance's values. */
export interface InstanceSource {
  readonly random: SeededRandom;
  /** Returns the next word for free strings; never an empty one. */
  nextWord(): string;
}
