import type { Limits } from "../options.ts";
import { ArrivalWatch } from "./arrival-watch.ts";
import { RequestMemory } from "./request-memory.ts";

/** What all requests of a listener pass before a service sees them. */
export interface Intake {
  readonly limits: Limits;
  readonly memory: RequestMemory;
  readonly arrivals: ArrivalWatch;
}

/** Makes the intake of a listener. Where its memory is short, requests that do not go on are not waited for. */
export function createIntake(limits: Limits): Intake {
  const arrivals = new ArrivalWatch(limits);
  const memory = new RequestMemory(limits, {
    memory: () => arrivals.endStalled(),
    call: () => arrivals.endOldest(),
  });
  return { limits, memory, arrivals };
}
