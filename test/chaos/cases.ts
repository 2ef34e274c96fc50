/** The faults that happen to sidecars under load. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Stage } from "./stage.ts";
import { type ChaosStore, openPostgres, openSqlite, openSqliteOnSmallDisk } from "./stores.ts";

/** A case. */
export interface ChaosCase {
  readonly name: string;
  readonly stores: readonly (() => ChaosStore | Promise<ChaosStore>)[];
  /** Whether background runs have to complete in spite of the fault. A full disk may fail them. */
  readonly handover: boolean;
  /** Disturbs the sidecars once. Afterwards as many serve as before. */
  disturb(stage: Stage, random: () => number): Promise<void>;
}

/** Load between two disturbances: long enough that a run whose step was interrupted completes that step. */
function pause(random: () => number): Promise<void> {
  return sleep(3000 + 2000 * random());
}

/** All cases. */
export const CASES: readonly ChaosCase[] = [
  {
    name: "kill",
    stores: [openSqlite, openPostgres],
    handover: true,
    async disturb(stage, random) {
      await pause(random);
      await stage.takeOldest().kill();
      await stage.start();
    },
  },
  {
    name: "drain",
    stores: [openSqlite, openPostgres],
    handover: true,
    async disturb(stage, random) {
      await pause(random);
      await stage.takeOldest().stop();
      await stage.start();
    },
  },
  {
    name: "database away during recovery",
    stores: [openPostgres],
    handover: true,
    async disturb(stage, random) {
      await pause(random);
      await stage.takeOldest().kill();
      // The other sidecar finds the abandoned runs when their leases have run out, after a second at most.
      await sleep(500 + 1000 * random());
      await stage.store.outage?.begin();
      await sleep(1000 + 4000 * random());
      await stage.store.outage?.end();
      await stage.start();
    },
  },
  {
    name: "disk full",
    stores: [openSqliteOnSmallDisk],
    handover: false,
    async disturb(stage, random) {
      await pause(random);
      stage.store.disk?.fill();
      await sleep(2000 + 3000 * random());
      stage.store.disk?.free();
    },
  },
  {
    name: "clock steps",
    stores: [openSqlite, openPostgres],
    handover: false,
    async disturb(stage, random) {
      for (const ms of [60_000, 0, -60_000, 0]) {
        await pause(random);
        stage.shiftClock(ms);
      }
    },
  },
];
