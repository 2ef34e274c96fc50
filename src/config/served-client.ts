/** The Client of a configuration that changes while calls use it. */
import type { Catalog } from "../catalog/catalog.ts";
import type { Client } from "../client/client.ts";
import type { ModelRouting } from "../client/model-names.ts";
import type { ProviderApi } from "../client/providers.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";
import { buildClient, createCatalogWith } from "./build-client.ts";
import type { MiddlewareParts } from "./build-middleware.ts";
import type { ClientConfig } from "./config.ts";
import { FormerAdapters } from "./former-adapters.ts";
import { middlewareTargets } from "./middleware-targets.ts";
import { ReusableClientParts } from "./reusable-parts.ts";

/** The parts that every Client of a ServedClient uses. The log also receives the changes of key files. */
export type ServedClientParts = Pick<MiddlewareParts, "log" | "observer" | "shared">;

/** A Client, and the parts that it was built with. */
interface Version {
  readonly client: Client;
  readonly kept: ReusableClientParts;
  /** Wire APIs of the providers, by their names. */
  readonly providers: ReadonlyMap<string, ProviderApi>;
  /** Names of models in the configuration of middleware. */
  readonly namedModels: ReadonlySet<string>;
}

/**
 * Forwards calls to the Client of the current configuration. A call in progress keeps the Client that it began with.
 * Adapters and limits whose settings do not change stay in use.
 */
export class ServedClient implements ModelClient {
  readonly #parts: ServedClientParts;
  #current: Version;
  readonly #former = new FormerAdapters();

  /** @throws ConfigurationError that names every provider that cannot be created. */
  constructor(config: ClientConfig, parts: ServedClientParts) {
    this.#parts = parts;
    this.#current = this.#build(config);
  }

  /** Uses a configuration from the next call on. @throws like the constructor, and changes nothing then. */
  use(config: ClientConfig): void {
    const before = this.#current;
    this.#current = this.#build(config, before);
    const { kept } = this.#current;
    const inUse = new Set(kept.adapters.parts);
    this.#former.add(...before.kept.adapters.parts.filter((adapter) => !inUse.has(adapter)));
    kept.forgetEarlier();
  }

  #build(config: ClientConfig, before?: Version): Version {
    const kept = new ReusableClientParts(before?.kept);
    const catalog = createCatalogWith(config);
    const client = buildClient(config, { ...this.#parts, catalog, kept, prices: this.#prices });
    const providers = new Map([...config.providers].map(([name, { api }]) => [name, api]));
    const namedModels = new Set(
      middlewareTargets(config.middleware).flatMap(({ model }) => (model === undefined ? [] : [model])),
    );
    return { client, kept, providers, namedModels };
  }

  /** Prices of the current catalog, for budgets that outlive a catalog. */
  readonly #prices: Pick<Catalog, "costOf" | "getModelInfo"> = {
    costOf: (...call) => this.catalog.costOf(...call),
    getModelInfo: (...name) => this.catalog.getModelInfo(...name),
  };

  get catalog(): Catalog {
    return this.#current.client.catalog;
  }

  /** The inputs for resolving names of models. The same object until they change. */
  get routing(): ModelRouting {
    return this.#current.client.routing;
  }

  /** Wire APIs of the providers, by their names, in the order of registration. */
  get providers(): ReadonlyMap<string, ProviderApi> {
    return this.#current.providers;
  }

  /** Reports whether the configuration or the catalog has a model. */
  hasModel(model: string): boolean {
    return this.#current.namedModels.has(model) || this.catalog.getModelInfo(model)?.id === model;
  }

  readonly complete: Client["complete"] = (...call) => this.#current.client.complete(...call);

  readonly stream: Client["stream"] = (...call) => this.#current.client.stream(...call);

  readonly countTokens: Client["countTokens"] = (...call) => this.#current.client.countTokens(...call);

  readonly embed: Client["embed"] = (...call) => this.#current.client.embed(...call);

  readonly resolveModel: Client["resolveModel"] = (name) => this.#current.client.resolveModel(name);

  readonly supportsToolChoice: Client["supportsToolChoice"] = (...choice) =>
    this.#current.client.supportsToolChoice(...choice);

  readonly supportsJsonSchema: Client["supportsJsonSchema"] = (...model) =>
    this.#current.client.supportsJsonSchema(...model);

  /** Reads all key files again. Returns the names of their providers. */
  reloadKeys(): string[] {
    const files = this.#current.kept.keyFiles.parts;
    for (const file of files) file.reload();
    return files.map(({ provider }) => provider);
  }

  /** Closes the connections of all adapters, also of adapters that only former configurations used. */
  async close(): Promise<void> {
    await Promise.all([this.#current.client.close(), this.#former.close()]);
  }
}
