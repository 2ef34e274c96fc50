import type { ModelChoice } from "./model-choice.ts";
import { type ModelOptions, withoutFaults } from "./model-options.ts";

/** Maximum number of model strings whose faults are counted; the oldest are dropped. */
const maximumModels = 1000;

/** Counts how many requests with a model string had its faults, for the option `times`. */
export interface FaultCounter {
  /** Returns the options that apply to this request. */
  take(choice: ModelChoice): ModelOptions;
  /** Resets all counts. */
  reset(): void;
}

/** Creates a counter without counts. */
export function createFaultCounter(): FaultCounter {
  const counts = new Map<string, number>();
  const take = ({ model, options }: ModelChoice): ModelOptions => {
    if (options.times === undefined) return options;
    const before = counts.get(model) ?? 0;
    if (before >= options.times) return withoutFaults(options);
    counts.delete(model);
    counts.set(model, before + 1);
    forgetOldest(counts);
    return options;
  };
  return { take, reset: () => counts.clear() };
}

function forgetOldest(counts: Map<string, number>): void {
  if (counts.size <= maximumModels) return;
  const [oldest] = counts.keys();
  if (oldest !== undefined) counts.delete(oldest);
}
