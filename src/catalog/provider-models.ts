import type { ModelInfo } from "../gen/outrigger/v1/catalog_service_pb.ts";
import type { Usage } from "../gen/outrigger/v1/usage_pb.ts";
import type { Catalog } from "./catalog.ts";
import type { CostOptions } from "./model-cost.ts";
import { defaultTraits, type ModelTraits, withTraits } from "./model-traits.ts";

/**
 * The catalog as seen by one registered provider. Entries that were added for the provider's registered name (`batch`)
 * come first, then the entries of the provider whose models it serves (`openai`).
 */
export class ProviderModels {
  readonly #catalog: Catalog;
  readonly #name: string;
  readonly #provider: string | undefined;

  /**
   * @param name Name under which the provider is registered.
   * @param provider Name of the provider in the shipped catalog; undefined if the catalog has no models for it.
   */
  constructor(catalog: Catalog, name: string, provider: string | undefined) {
    this.#catalog = catalog;
    this.#name = name;
    this.#provider = provider;
  }

  /** As {@link Catalog.getModelInfo}. */
  getModelInfo(model: string): ModelInfo | undefined {
    if (this.#catalog.addedEntry(model, this.#name) !== undefined)
      return this.#catalog.getModelInfo(model, this.#name);
    return this.#provider === undefined ? undefined : this.#catalog.getModelInfo(model, this.#provider);
  }

  /** As {@link Catalog.hasModel}. */
  hasModel(model: string): boolean {
    if (this.#catalog.addedEntry(model, this.#name) !== undefined) return true;
    return this.#provider !== undefined && this.#catalog.hasModel(model, this.#provider);
  }

  /**
   * As {@link Catalog.getLatestModel}, among the entries that were added for the provider and the entries of the
   * catalog.
   */
  getLatestModel(): ModelInfo | undefined {
    const names = new Set([this.#name, this.#provider ?? this.#name]);
    const latest = [...names].flatMap((name) => this.#catalog.getLatestModel(name) ?? []);
    return latest.sort((left, right) => (left.releaseDate < right.releaseDate ? 1 : -1))[0];
  }

  /** As {@link Catalog.traitsOf}. An added entry changes the traits that it names. */
  traitsOf(model: string): ModelTraits {
    const added = this.#catalog.addedEntry(model, this.#name)?.traits;
    const traits =
      this.#provider === undefined ? defaultTraits : this.#catalog.traitsOf(this.#provider, model);
    return added === undefined ? traits : withTraits(traits, added);
  }

  /** As {@link Catalog.costOf}. */
  costOf(usage: Usage, model: string, options?: CostOptions): bigint | undefined {
    if (this.#catalog.addedEntry(model, this.#name)?.prices !== undefined)
      return this.#catalog.costOf(usage, model, this.#name, options);
    return this.#provider === undefined
      ? undefined
      : this.#catalog.costOf(usage, model, this.#provider, options);
  }
}
