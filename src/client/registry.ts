import type { ProviderAdapter } from "../core/adapter.ts";
import { ConfigurationError, invalidField, SDKError } from "../core/errors.ts";
import { quote } from "./violations.ts";

interface Entry {
  readonly adapter: ProviderAdapter;
  /** Settles when the adapter is initialized; undefined where it already is. */
  readonly ready: Promise<void> | undefined;
}

/** The providers of a Client, by name. */
export class ProviderRegistry {
  readonly #entries = new Map<string, Entry>();
  readonly #remedy: string;
  #defaultName: string | undefined;

  /** @param remedy Advice for the error that no provider is registered. */
  constructor(remedy: string) {
    this.#remedy = remedy;
  }

  /** Names in the order of registration. */
  get names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** Name of the default provider; undefined where there is no provider. */
  get defaultName(): string | undefined {
    return this.#defaultName;
  }

  /** Adds a provider and initializes it. The first one becomes the default. */
  register(name: string, adapter: ProviderAdapter): void {
    if (name.trim() === "") throw new ConfigurationError("a provider needs a name");
    if (this.#entries.has(name))
      throw new ConfigurationError(`the provider ${quote(name)} is already registered`);
    this.#entries.set(name, { adapter, ready: initialize(name, adapter) });
    this.#defaultName ??= name;
  }

  /** Makes a registered provider the default. */
  setDefault(name: string): void {
    if (!this.#entries.has(name)) {
      throw new ConfigurationError(
        `the default provider ${quote(name)} is not registered; ${this.#listing()}`,
      );
    }
    this.#defaultName = name;
  }

  /** Returns the adapter of a provider, the default one for an empty name. */
  find(name: string): ProviderAdapter {
    return this.#entry(name).adapter;
  }

  /** Like `find`, and waits until the adapter is initialized. */
  async findReady(name: string): Promise<ProviderAdapter> {
    const { adapter, ready } = this.#entry(name);
    if (ready !== undefined) await ready;
    return adapter;
  }

  /** Closes all adapters. Rejects with the first failure after all have settled. */
  async close(): Promise<void> {
    const adapters = new Set([...this.#entries.values()].map(({ adapter }) => adapter));
    const closings = await Promise.allSettled([...adapters].map(async (adapter) => adapter.close?.()));
    const failure = closings.find((closing) => closing.status === "rejected");
    if (failure !== undefined) throw failure.reason;
  }

  #entry(name: string): Entry {
    if (this.#defaultName === undefined)
      throw new ConfigurationError(`no provider is registered. ${this.#remedy}`);
    const entry = this.#entries.get(name === "" ? this.#defaultName : name);
    if (entry === undefined)
      throw invalidField("provider", `${quote(name)} is not registered; ${this.#listing()}`);
    return entry;
  }

  #listing(): string {
    return `the registered providers are ${this.names.join(", ") || "none"}`;
  }
}

/** A synchronous failure throws; an asynchronous one fails the first call. */
function initialize(name: string, adapter: ProviderAdapter): Promise<void> | undefined {
  let pending: void | Promise<void>;
  try {
    pending = adapter.initialize?.();
  } catch (error) {
    throw initializationError(name, error);
  }
  if (pending === undefined) return undefined;
  const ready = pending.catch((error: unknown) => {
    throw initializationError(name, error);
  });
  ready.catch(() => {});
  return ready;
}

function initializationError(name: string, error: unknown): SDKError {
  if (error instanceof SDKError) return error;
  return new ConfigurationError(`the provider ${quote(name)} could not be initialized`, { cause: error });
}
