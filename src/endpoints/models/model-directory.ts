/** The models that callers may name, and the target of each name. */
import type { Catalog } from "../../catalog/catalog.ts";
import { ProviderModels } from "../../catalog/provider-models.ts";
import type { ProviderApi } from "../../client/providers.ts";
import type { ModelInfo } from "../../gen/outrigger/v1/catalog_service_pb.ts";

/** Where a request to a model goes. */
export interface ModelTarget {
  /** Name of the provider in the request. Empty where the default provider, or that of an alias, serves it. */
  readonly provider: string;
  /** Name of the model in the request. */
  readonly model: string;
  /** The provider's model that serves it, as far as it is known before the call. */
  readonly served: ServedModel;
}

/** A model of a registered provider. */
export interface ServedModel {
  /** Name under which the provider is registered. Empty where there is no provider. */
  readonly provider: string;
  /** The provider's own id of the model. */
  readonly model: string;
  /** Wire API of the provider. Undefined where the provider is not known. */
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

/** Options of a directory. */
export interface ModelDirectoryOptions {
  /** The APIs of the registered providers, by their names, in the order of registration. */
  readonly providers: ReadonlyMap<string, ProviderApi>;
  /** Undefined: the first provider. */
  readonly defaultProvider?: string | undefined;
  /** Models by the names that the configuration gives them. */
  readonly aliases?: Readonly<
    Record<string, { readonly provider?: string | undefined; readonly model: string }>
  >;
  readonly catalog: Catalog;
}

/** The catalog's provider for each wire API. Self-hosted servers have the models of the configuration. */
const CATALOG_NAMES: Readonly<Record<ProviderApi, string | undefined>> = {
  "openai-responses": "openai",
  "anthropic-messages": "anthropic",
  gemini: "gemini",
  "openai-chat": undefined,
  command: undefined,
};

/** The catalog's provider for a wire API. Undefined: it has none. */
export function getCatalogProvider(api: ProviderApi): string | undefined {
  return CATALOG_NAMES[api];
}

/** Resolves names of models. */
export class ModelDirectory {
  readonly #options: ModelDirectoryOptions;
  readonly #defaultProvider: string;
  readonly #models = new Map<string, ProviderModels>();
  #listed: ReadonlyMap<string, ListedModel> | undefined;

  constructor(options: ModelDirectoryOptions) {
    const { providers, defaultProvider, catalog } = options;
    this.#options = options;
    this.#defaultProvider = defaultProvider ?? [...providers.keys()][0] ?? "";
    for (const [name, api] of providers)
      this.#models.set(name, new ProviderModels(catalog, name, CATALOG_NAMES[api]));
  }

  /**
   * Where a model goes, by the first of these that fits: an alias; `provider/model` with the name of a registered
   * provider; an id that the default provider lists, or else the first provider that does; any other id, with slashes
   * or without, goes to the default provider.
   */
  resolve(name: string): ModelTarget {
    const { aliases = {}, providers } = this.#options;
    const alias = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
    if (alias !== undefined)
      return { provider: "", model: name, served: this.#served(alias.provider ?? "", alias.model) };
    const slash = name.indexOf("/");
    const prefix = name.slice(0, Math.max(slash, 0));
    if (prefix !== "" && providers.has(prefix) && slash < name.length - 1)
      return this.#target(prefix, name.slice(slash + 1));
    return this.#target(this.#providerOf(name) ?? "", name);
  }

  /** All models that can be named: those of the catalog whose providers are registered, and the aliases. */
  list(): readonly ListedModel[] {
    return [...this.#all().values()];
  }

  /** The model with a listed id, or the model that another id resolves to. */
  find(id: string): ListedModel | undefined {
    const listed = this.#all().get(id);
    if (listed !== undefined) return listed;
    const { served } = this.resolve(id);
    const info = this.#models.get(served.provider)?.getModelInfo(served.model);
    return info === undefined ? undefined : { id, served, info };
  }

  #target(provider: string, model: string): ModelTarget {
    return { provider, model, served: this.#served(provider, model) };
  }

  #served(provider: string, model: string): ServedModel {
    const name = provider || this.#defaultProvider;
    return { provider: name, model, api: this.#options.providers.get(name) };
  }

  /** The provider that lists a model. Undefined: the default provider does, or none. */
  #providerOf(model: string): string | undefined {
    if (this.#lists(this.#defaultProvider, model)) return undefined;
    return [...this.#models.keys()].find((provider) => this.#lists(provider, model));
  }

  #lists(provider: string, model: string): boolean {
    return this.#models.get(provider)?.getModelInfo(model) !== undefined;
  }

  #all(): ReadonlyMap<string, ListedModel> {
    this.#listed ??= new Map([...this.#aliases(), ...this.#ofCatalog()].map((model) => [model.id, model]));
    return this.#listed;
  }

  #aliases(): ListedModel[] {
    return Object.entries(this.#options.aliases ?? {}).map(([id, { provider = "", model }]) => {
      const served = this.#served(provider, model);
      return { id, served, info: this.#models.get(served.provider)?.getModelInfo(model) };
    });
  }

  #ofCatalog(): ListedModel[] {
    const { catalog, providers } = this.#options;
    return [...providers].flatMap(([provider, api]) => {
      const names = new Set([CATALOG_NAMES[api], provider].filter((name) => name !== undefined));
      const infos = [...names].flatMap((name) => catalog.listModels(name));
      return infos.map((info) => this.#listedOf(provider, info));
    });
  }

  /** A model is listed by its own id if that id resolves to the provider. */
  #listedOf(provider: string, info: ModelInfo): ListedModel {
    const isDirect = this.resolve(info.id).served.provider === provider;
    const id = isDirect ? info.id : `${provider}/${info.id}`;
    return { id, served: this.#served(provider, info.id), info };
  }
}
