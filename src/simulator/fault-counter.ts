import type { ModelChoice } from "./model-choice.ts";
import { type ModelOptions, withoutFaults } from "./model-options.ts";

/** Most model strings whose faults are counted; the oldest are forgotten. */
const maximumModels = 1000;

/** Counts how often a model string met its faults, for the option `times`. */
export interface FaultCounter {
  /** Returns the options that hold for this request. */
  take(choice: ModelChoice): ModelOptions;
  /** Begins to count anew. */
  reset(): void;
}

/** Creates a counter that has seen nothing. */
export function createFaultCounter(): FaultCounter {
  const met = new Map<string, number>();
  const take = ({ model, options }: ModelChoice): ModelOptions => {
    if (options.times === undefined) return options;
    const before = met.get(model) ?? 0;
    if (before >= options.times) return withoutFaults(options);
    met.delete(model);
    met.set(model, before + 1);
    forgetOldest(met);
    return options;
  };
  return { take, reset: () => met.clear() };
}

function forgetOldest(met: Map<string, number>): void {
  if (met.size <= maximumModels) return;
  const [oldest] = met.keys();
  if (oldest !== undefined) met.delete(oldest);
}
