import type { Lease } from "../../store.ts";

/** What a store knows of a run that is held. */
export interface HeldRun {
  readonly runId: string;
  /** Number of its row. */
  readonly number: number;
  readonly holder: string;
  /** In milliseconds of `performance.now()`. */
  readonly endsAt: number;
  /** Sequence number of its latest event. */
  lastSequence: number;
  cancelRequested: boolean;
}

/**
 * Who holds which runs. In memory: the file belongs to one process, and what an earlier one held is free when the file
 * is opened again.
 */
export class Leases {
  readonly #held = new Map<string, HeldRun>();

  /** Gives a run to a holder, or more time to the one that has it. */
  hold(run: Omit<HeldRun, "holder" | "endsAt">, { holder, durationMs }: Lease): void {
    this.#held.set(run.runId, { ...run, holder, endsAt: performance.now() + durationMs });
  }

  release(runId: string): void {
    this.#held.delete(runId);
  }

  /** The run, where that holder has it: also after the lease has run out, as long as nobody else took it. */
  heldBy(runId: string, holder: string): HeldRun | undefined {
    const held = this.#held.get(runId);
    return held?.holder === holder ? held : undefined;
  }

  /** Whether anybody holds the run, under a lease that has not run out. */
  isHeld(runId: string): boolean {
    const held = this.#held.get(runId);
    return held !== undefined && held.endsAt > performance.now();
  }

  /** Notes that a run is to be cancelled. */
  requestCancel(runId: string): void {
    const held = this.#held.get(runId);
    if (held !== undefined) held.cancelRequested = true;
  }

  /** Gives more time for all runs of a holder. Returns those that are to be cancelled. */
  renew(lease: Lease): string[] {
    const toCancel: string[] = [];
    for (const held of this.#held.values()) {
      if (held.holder !== lease.holder) continue;
      this.hold(held, lease);
      if (held.cancelRequested) toCancel.push(held.runId);
    }
    return toCancel;
  }

  /** How many runs are held. */
  get size(): number {
    return this.#held.size;
  }
}
