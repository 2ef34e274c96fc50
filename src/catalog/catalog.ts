import { Capability, type ModelInfo } from "../gen/outrigger/v1/catalog_service_pb.ts";
import type { Usage } from "../gen/outrigger/v1/usage_pb.ts";
import catalogFile from "./catalog.json" with { type: "json" };
import type { CapabilityWord, CatalogData, CatalogEntry } from "./catalog-data.ts";
import { type CostOptions, costWith, pricesAt, toDay } from "./model-cost.ts";
import { getCapabilities, isEmbeddingModel, toCapability, toInfo } from "./model-info.ts";
import { ModelNames, maxIdLength } from "./model-names.ts";
import { type ModelSettings, toEntry } from "./model-settings.ts";
import { defaultTraits, type ModelTraits, mergeTraits, withTraits } from "./model-traits.ts";

/**
 * Known facts about models. Advisory only: a request for an unknown model still goes to its provider, with the traits
 * of the family that its id resembles. The data is indexed on the first lookup.
 */
export class Catalog {
  readonly #data: CatalogData;
  readonly #added: readonly CatalogEntry[];
  /** By provider and id. */
  readonly #found = new Map<string, FoundModel>();
  #index: ModelNames | undefined;

  /**
   * @param added Further entries. One with the provider and id of another overrides it field by field; a name that two
   *   models claim belongs to the later one.
   */
  constructor(data: CatalogData, added: readonly CatalogEntry[] = []) {
    this.#data = data;
    this.#added = added;
  }

  /**
   * Returns the model with that id or alias, or whose snapshot the id names (`gpt-5.2-2025-12-11` is `gpt-5.2`).
   * @param provider Restricts the lookup to models of this provider. Any provider if absent.
   * @param at The moment for which prices are returned.
   */
  getModelInfo(model: string, provider?: string, at = new Date()): ModelInfo | undefined {
    const entry = this.#names().find(model, provider);
    return entry && toInfo(entry, this.traitsOf(entry.provider, entry.id), toDay(at));
  }

  /** Reports whether `getModelInfo` would find the model for this provider, without building its description. */
  hasModel(model: string, provider: string): boolean {
    return this.find(model, provider).entry !== undefined;
  }

  /**
   * Lists the known models by provider, newest first; undated ones last. Models that the provider no longer serves are
   * left out; `getModelInfo` still finds them.
   * @param provider Restricts the list to models of this provider. All if absent.
   * @param capabilities Restricts the list to models that have all of these.
   * @param at The moment for which models and prices are returned.
   */
  listModels(
    provider?: string,
    capabilities: readonly (Capability | CapabilityWord)[] = [],
    at = new Date(),
  ): ModelInfo[] {
    const day = toDay(at);
    const entries = this.#matching(provider, capabilities).filter((entry) => !isRetired(entry, day));
    return entries.map((entry) => toInfo(entry, this.traitsOf(entry.provider, entry.id), toDay(at)));
  }

  /**
   * Returns a provider's newest model that is served at a moment and has the capabilities; a preview only if no stable
   * model has them. If several are from the same day, the most expensive one. An embedding model only if its capability
   * is among them.
   */
  getLatestModel(
    provider: string,
    capabilities: readonly (Capability | CapabilityWord)[] = [],
    now = new Date(),
  ): ModelInfo | undefined {
    const day = toDay(now);
    const wantsVectors = capabilities.some((each) => toCapability(each) === Capability.EMBEDDINGS);
    const served = this.#matching(provider, capabilities).filter(
      (entry) => isServed(entry, day) && isEmbeddingModel(entry) === wantsVectors,
    );
    const latest = served.find(({ preview }) => preview !== true) ?? served[0];
    return latest && toInfo(latest, this.traitsOf(provider, latest.id), day);
  }

  /**
   * Returns the traits that decide how a request to a model is written: from its entry, else from its family, else the
   * defaults. Never fails, whatever the id.
   */
  traitsOf(provider: string, model: string): ModelTraits {
    return this.find(model, provider).traits;
  }

  /**
   * Reports whether two ids name one model: the same id, an alias, or an id and one of its snapshots. Two snapshots of
   * one model are two models.
   */
  sameModel(left: string, right: string, provider: string): boolean {
    if (left === right) return true;
    const a = this.#names().split(left, provider);
    const b = this.#names().split(right, provider);
    return a.id === b.id && (a.snapshot === "" || b.snapshot === "" || a.snapshot === b.snapshot);
  }

  /**
   * Returns the price of a call, in billionths of a US dollar. Undefined, never 0, if a required price is unknown.
   * Prefer the `model` that the provider reports: providers answer some ids with another model, at its price.
   */
  costOf(usage: Usage, model: string, provider: string, options: CostOptions = {}): bigint | undefined {
    const { entry } = this.find(model, provider);
    if (entry === undefined) return undefined;
    const prices = pricesAt(entry, options.at ?? new Date());
    return costWith(prices, usage, options.longCacheWriteTokens);
  }

  /** Returns the entry that was added for a model of a provider; undefined if none was added. */
  addedEntry(model: string, provider: string): CatalogEntry | undefined {
    if (this.#added.length === 0) return undefined;
    const { entry } = this.find(model, provider);
    if (entry === undefined) return undefined;
    return this.#added.find(({ id, provider: owner }) => owner === provider && id === entry.id);
  }

  /**
   * Returns the entry and the traits of a provider's model by its id or alias. Results are cached, since an unknown id
   * is compared with many patterns.
   */
  find(model: string, provider: string): FoundModel {
    if (model.length > maxIdLength) return NOT_FOUND;
    const key = `${provider}\n${model}`;
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const names = this.#names();
    const entry = names.find(model, provider);
    const traits = mergeTraits(names.findFamily(entry?.id ?? model, provider)?.traits, entry?.traits);
    const found = { entry, traits };
    // Ids come from callers: without a limit, invented ones would fill the memory.
    if (this.#found.size >= MAX_FOUND) this.#found.clear();
    this.#found.set(key, found);
    return found;
  }

  #names(): ModelNames {
    this.#index ??= new ModelNames(this.#data, this.#added);
    return this.#index;
  }

  #matching(provider: string | undefined, wanted: readonly (Capability | CapabilityWord)[]): CatalogEntry[] {
    const capabilities = wanted.map(toCapability);
    const fits = (entry: CatalogEntry) => {
      if (provider !== undefined && entry.provider !== provider) return false;
      const has = getCapabilities(entry, this.traitsOf(entry.provider, entry.id));
      return capabilities.every((capability) => has.has(capability));
    };
    return this.#names().entries.filter(fits).sort(compareEntries);
  }
}

/** The result of a lookup. */
interface FoundModel {
  readonly entry: CatalogEntry | undefined;
  /** Of the entry, else of the family, else the defaults. */
  readonly traits: ModelTraits;
}

const NOT_FOUND: FoundModel = { entry: undefined, traits: defaultTraits };

/**
 * The catalog as seen by one registered provider. Entries that were added for the provider's registered name (`batch`)
 * come first, then the entries of the provider whose models it serves (`openai`).
 */
export class ProviderModels {
  readonly #catalog: Catalog;
  readonly #name: string;
  readonly #provider: string | undefined;
  readonly #found = new Map<string, ProviderModel>();

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
    return this.#find(model).traits;
  }

  /** As {@link Catalog.costOf}. */
  costOf(usage: Usage, model: string, { at, longCacheWriteTokens }: CostOptions = {}): bigint | undefined {
    const { priced } = this.#find(model);
    if (priced === undefined) return undefined;
    return costWith(pricesAt(priced, at ?? new Date()), usage, longCacheWriteTokens);
  }

  /** Looks up a model. The result is cached, since each call asks several times. */
  #find(model: string): ProviderModel {
    const known = this.#found.get(model);
    if (known !== undefined) return known;
    const added = this.#catalog.addedEntry(model, this.#name);
    const shipped = this.#provider === undefined ? undefined : this.#catalog.find(model, this.#provider);
    const { traits = defaultTraits } = shipped ?? {};
    const found = {
      traits: added?.traits === undefined ? traits : withTraits(traits, added.traits),
      priced: added?.prices === undefined ? shipped?.entry : this.#catalog.find(model, this.#name).entry,
    };
    // Ids come from callers, who could fill the memory with invented ones.
    if (this.#found.size >= MAX_FOUND) this.#found.clear();
    if (model.length <= maxIdLength) this.#found.set(model, found);
    return found;
  }
}

/** The facts about a model of a provider. */
interface ProviderModel {
  readonly traits: ModelTraits;
  /** The entry with the prices of its calls; undefined if they are unknown. */
  readonly priced: CatalogEntry | undefined;
}

/** Options of a catalog. */
export interface CatalogOptions {
  /** Additional models, and changes to shipped ones. A later one overrides an earlier one. */
  readonly models?: readonly ModelSettings[] | undefined;
}

/**
 * Creates a catalog of the shipped models with additional or changed ones.
 *
 * ```ts
 * const prices = { input: 3.75, output: 15 }; // US dollars per million tokens
 * const catalog = createCatalog({ models: [{ id: "ft:gpt-4o:acme", provider: "openai", prices }] });
 * const client = Client.fromEnv(process.env, { catalog });
 * ```
 * @throws ConfigurationError naming an invalid value.
 */
export function createCatalog({ models = [] }: CatalogOptions = {}): Catalog {
  const added = models.map((settings, index) => toEntry(settings, `models[${index}]`));
  return new Catalog(catalogFile as CatalogData, added);
}

/** The catalog that the project ships. */
export const defaultCatalog: Catalog = createCatalog();

/** As {@link Catalog.costOf}. */
export function costOf(
  usage: Usage,
  model: string,
  provider: string,
  options?: CostOptions,
): bigint | undefined {
  return defaultCatalog.costOf(usage, model, provider, options);
}

/** Maximum number of cached lookups. */
const MAX_FOUND = 1000;

function isServed(entry: CatalogEntry, day: string): boolean {
  return (entry.release_date ?? "") <= day && !isRetired(entry, day);
}

function isRetired({ end_of_life_date: end = "" }: CatalogEntry, day: string): boolean {
  return end !== "" && end <= day;
}

/** By provider; newest first, undated last; then by price, highest first; then by id. */
function compareEntries(left: CatalogEntry, right: CatalogEntry): number {
  return (
    compareText(left.provider, right.provider) ||
    compareText(right.release_date ?? "", left.release_date ?? "") ||
    (right.prices?.[0]?.output_micro_usd_per_million_tokens ?? 0) -
      (left.prices?.[0]?.output_micro_usd_per_million_tokens ?? 0) ||
    compareText(left.id, right.id)
  );
}

/** By code units: the same order in every locale. */
function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
