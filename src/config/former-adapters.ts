import type { ProviderAdapter } from "../core/adapter.ts";

/**
 * Adapters of earlier configurations, which get no new calls. Calls in progress keep them alive, and their idle
 * connections close automatically.
 */
export class FormerAdapters {
  #adapters: WeakRef<ProviderAdapter>[] = [];

  /** Adds adapters, and forgets those that are no longer in use. */
  add(...adapters: readonly ProviderAdapter[]): void {
    const alive = this.#adapters.filter((adapter) => adapter.deref() !== undefined);
    this.#adapters = [...alive, ...adapters.map((adapter) => new WeakRef(adapter))];
  }

  /** Closes the connections of the adapters that are still in use. */
  async close(): Promise<void> {
    await Promise.all(this.#adapters.map(async (adapter) => adapter.deref()?.close?.()));
  }
}
