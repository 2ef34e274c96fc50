import { MemoryAccount } from "../../core/memory-account.ts";
import type { Limits } from "../base/limits.ts";
import { ArrivalWatch } from "./arrival-watch.ts";
import { RequestMemory } from "./request-memory.ts";

/** Limits the requests of a listener before a service sees them: their size, memory and time of arrival. */
export interface Intake {
  readonly limits: Limits;
  readonly memory: RequestMemory;
  readonly arrivals: ArrivalWatch;
}

/**
 * Creates the intake of a listener. When memory is short, stalled requests are rejected instead of awaited.
 * @param account Default: a new account with these limits.
 */
export function createIntake(limits: Limits, account: MemoryAccount = new MemoryAccount({ limits })): Intake {
  const arrivals = new ArrivalWatch(limits);
  const memory = new RequestMemory(limits, account, {
    memory: () => arrivals.endStalled(),
    call: () => arrivals.endOldest(),
  });
  return { limits, memory, arrivals };
}
