/** The models that callers may name, and the target of each name. */
import type { Catalog } from "../../catalog/catalog.ts";
import { type ModelRouting, resolveModel } from "../../client/model-names.ts";
import { getCatalogProvider, type ProviderApi } from "../../client/providers.ts";
import type { ModelInfo } from "../../gen/outrigger/v1/catalog_service_pb.ts";

/** The target of a request for a model. */
export interface ModelTarget {
  /**
   * Name of the provider in the request. Empty if the default provider, or the provider of an alias, serves the model.
   */
  readonly provider: string;
  /** Name of the model in the request. */
  readonly model: string;
  /** The provider's model that serves the request, if it is known before the call. */
  readonly served: ServedModel;
}

/** A model of a registered provider. */
export interface ServedModel {
  /** Name under which the provider is registered. Empty if there is no provider. */
  readonly provider: string;
  /** The provider's id of the model. */
  readonly model: string;
  /** Wire API of the provider. Undefined if the provider is not known. */
  readonly api: ProviderApi | undefined;
}

/** A model that callers may name. */
export interface ListedModel {
  /** The name to use in requests. */
  readonly id: string;
  readonly served: ServedModel;
  /** Its catalog entry. Undefined if there is none, as for most aliases. */
  readonly info: ModelInfo | undefined;
}

/** Options of a directory. They may change while it is in use. Then `routing` is another object. */
export interface ModelDirectoryOptions {
  /** The APIs of the registered providers, by their names, in the order of registration. */
  readonly providers: ReadonlyMap<string, ProviderApi>;
  /** The inputs for resolving names of models. The same as in a Client with the same providers. */
  readonly routing: ModelRouting;
  readonly catalog: Catalog;
}

/** Resolves names of models. */
export type ModelResolver = Pick<ModelDirectory, "resolve">;

/** The models that callers may name. */
export class ModelDirectory {
  readonly #options: ModelDirectoryOptions;
  #listed: ReadonlyMap<string, ListedModel> | undefined;
  /** The routing for which `#listed` was created. */
  #routing: ModelRouting | undefined;

  constructor(options: ModelDirectoryOptions) {
    this.#options = options;
  }

  /**
   * Returns the target of a request that names a model but no provider. An alias stays a name, so that its fallbacks
   * apply.
   */
  resolve(name: string): ModelTarget {
    const { routing } = this.#options;
    const { provider, model, alias, isChosen } = resolveModel({ provider: "", model: name }, routing, {
      usesCatalog: true,
    });
    const served = this.#served(provider, model);
    if (alias !== undefined || isChosen === true) return { provider: "", model: name, served };
    return {
      provider: provider === routing.defaultProvider && model === name ? "" : provider,
      model,
      served,
    };
  }

  /** Returns all models that can be named: the catalog's models whose providers are registered, and the aliases. */
  list(): readonly ListedModel[] {
    return [...this.#all().values()];
  }

  /**
   * Returns the model with a listed id, or the model that another id resolves to. The catalog does not have every
   * model, so the caller is believed if it names the provider, or if the catalog has none of the provider's models.
   */
  find(id: string): ListedModel | undefined {
    const listed = this.#all().get(id);
    if (listed !== undefined) return listed;
    const { served } = this.resolve(id);
    const models = this.#options.routing.providers.get(served.provider);
    const info = models?.getModelInfo(served.model);
    if (info !== undefined) return { id, served, info };
    const isNamed = served.model !== id || models?.getLatestModel() === undefined;
    return models !== undefined && isNamed ? { id, served, info } : undefined;
  }

  #served(provider: string, model: string): ServedModel {
    return { provider, model, api: this.#options.providers.get(provider) };
  }

  #all(): ReadonlyMap<string, ListedModel> {
    const { routing } = this.#options;
    if (this.#listed !== undefined && this.#routing === routing) return this.#listed;
    const models = [...this.#listAliases(), ...this.#listCatalog()];
    const listed = new Map(models.map((model) => [model.id, model]));
    [this.#listed, this.#routing] = [listed, routing];
    return listed;
  }

  #listAliases(): ListedModel[] {
    const { aliases, providers } = this.#options.routing;
    return Object.keys(aliases).map((id) => {
      const { served } = this.resolve(id);
      return { id, served, info: providers.get(served.provider)?.getModelInfo(served.model) };
    });
  }

  #listCatalog(): ListedModel[] {
    const { catalog, providers } = this.#options;
    return [...providers].flatMap(([provider, api]) => {
      const names = new Set([getCatalogProvider(api), provider].filter((name) => name !== undefined));
      const infos = [...names].flatMap((name) => catalog.listModels(name));
      return infos.map((info) => this.#toListed(provider, info));
    });
  }

  /** A model is listed under its plain id if that id resolves to the provider. */
  #toListed(provider: string, info: ModelInfo): ListedModel {
    const isDirect = this.resolve(info.id).served.provider === provider;
    const id = isDirect ? info.id : `${provider}/${info.id}`;
    return { id, served: this.#served(provider, info.id), info };
  }
}
