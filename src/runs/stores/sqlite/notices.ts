import type { RunNotice } from "../../store.ts";

type Listener = (notice: RunNotice) => void;

/** Who wants to know of which runs. */
export class Notices {
  readonly #listeners = new Map<string, Set<Listener>>();

  /** Calls back at each notice of a run. Returns what ends it. */
  subscribe(runId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(runId) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(runId, listeners);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(runId) === listeners) this.#listeners.delete(runId);
    };
  }

  notify(runId: string, notice: RunNotice): void {
    const listeners = this.#listeners.get(runId);
    if (listeners === undefined) return;
    for (const listener of [...listeners]) listener(notice);
  }
}
