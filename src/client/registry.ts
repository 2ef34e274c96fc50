import type { Catalog } from "../catalog/catalog.ts";
import { ProviderModels } from "../catalog/catalog.ts";
import type { ProviderAdapter } from "../core/adapter.ts";
import { ConfigurationError, invalidField, SDKError } from "../core/errors.ts";
import { quote } from "./violations.ts";

/** A registered provider. */
export interface RegisteredProvider {
  readonly adapter: ProviderAdapter;
  /** Settles when the adapter is initialized; undefined if that took no time. */
  readonly ready: Promise<void> | undefined;
}

/** The providers of a Client, by name. */
export class ProviderRegistry {
  readonly #entries = new Map<string, RegisteredProvider>();
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

  /** Name of the default provider: the one that was set, else the only one. Undefined if there is none. */
  get defaultName(): string | undefined {
    const [only, ...others] = this.names;
    return this.#defaultName ?? (others.length === 0 ? only : undefined);
  }

  /** Returns the catalog as seen by each provider. */
  describeModels(catalog: Catalog): ReadonlyMap<string, ProviderModels> {
    const models = [...this.#entries].map(
      ([name, { adapter }]) => [name, new ProviderModels(catalog, name, adapter.catalogProvider)] as const,
    );
    return new Map(models);
  }

  /** Adds a provider and initializes it. */
  register(name: string, adapter: ProviderAdapter): void {
    if (name.trim() === "")
      throw new ConfigurationError(`expected a name for a provider, found ${quote(name)}`);
    if (this.#entries.has(name))
      throw new ConfigurationError(`the provider ${quote(name)} is already registered`);
    if (adapter.name !== name) throw new ConfigurationError(nameMismatch(name, adapter.name));
    this.#entries.set(name, { adapter, ready: initialize(name, adapter) });
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

  /** Returns a provider, the default one for an empty name. Throws ConfigurationError or InvalidRequestError. */
  find(name: string): RegisteredProvider {
    if (this.#entries.size === 0) throw new ConfigurationError(`no provider is registered. ${this.#remedy}`);
    const wanted = name === "" ? this.defaultName : name;
    if (wanted === undefined) throw new ConfigurationError(`${NO_DEFAULT}; ${this.#listing()}`);
    const entry = this.#entries.get(wanted);
    if (entry === undefined)
      throw invalidField("provider", `${quote(name)} is not registered; ${this.#listing()}`);
    return entry;
  }

  /** Closes all adapters. Rejects with the first failure after all have settled. */
  async close(): Promise<void> {
    const entries = [...this.#entries.values()];
    const closings = await Promise.allSettled(entries.map(async ({ adapter }) => adapter.close?.()));
    const failure = closings.find((closing) => closing.status === "rejected");
    if (failure !== undefined) throw failure.reason;
  }

  #listing(): string {
    return `the registered providers are ${this.names.join(", ") || "none"}`;
  }
}

const NO_DEFAULT = "the request names no provider, and there are several without a default";

function nameMismatch(name: string, adapterName: string): string {
  const remedy = `pass the option name: ${quote(name)} to the adapter, or register it as ${quote(adapterName)}`;
  return `the adapter that is registered as ${quote(name)} is named ${quote(adapterName)}; ${remedy}`;
}

/** Initializes an adapter. A synchronous failure is thrown; an asynchronous one fails every call. */
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
