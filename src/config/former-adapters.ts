import type { ProviderAdapter } from "../core/adapter.ts";

/** Adapters that get no new calls. Their idle connections close automatically, and calls in progress keep them. */
export class FormerAdapters {
  #adapters: WeakRef<ProviderAdapter>[] = [];

  /** Adds adapters, and forgets those that are no longer in use. */
  add(...adapters: readonly ProviderAdapter[]): void {
    const alive = this.#adapters.filter((adapter) => adapter.deref() !== undefined);
    this.#adapters = [...alive, ...adapters.map((adapter) => new WeakRef(adapter))];
  }

  /** Closes the connections of those that are left. */
  async close(): Promise<void> {
    await Promise.all(this.#adapters.map(async (adapter) => adapter.deref()?.close?.()));
  }
}
