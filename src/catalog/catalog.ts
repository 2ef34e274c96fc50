import type { Capability, ModelInfo } from "../gen/outrigger/v1/catalog_service_pb.ts";
import type { Usage } from "../gen/outrigger/v1/usage_pb.ts";
import catalogFile from "./catalog.json" with { type: "json" };
import type { CapabilityWord, CatalogData, CatalogEntry } from "./catalog-data.ts";
import { type CostOptions, costWith, pricesAt, toDay } from "./model-cost.ts";
import { getCapabilities, toCapability, toInfo } from "./model-info.ts";
import { ModelNames, maxIdLength } from "./model-names.ts";
import { type ModelSettings, toEntry } from "./model-settings.ts";
import { defaultTraits, type ModelTraits, mergeTraits } from "./model-traits.ts";

/**
 * What is known about models. It is advisory: a model that it does not know is passed through to its provider all the
 * same, with the traits of the family that its id resembles. Reads its data at the first lookup.
 */
export class Catalog {
  readonly #data: CatalogData;
  readonly #added: readonly CatalogEntry[];
  readonly #traits = new Map<string, ModelTraits>();
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
   * The model with that id or alias, or whose snapshot it names (`gpt-5.2-2025-12-11` is `gpt-5.2`).
   * @param provider Only a model of this provider. Any where absent.
   * @param at Prices are those of this moment.
   */
  getModelInfo(model: string, provider?: string, at = new Date()): ModelInfo | undefined {
    const entry = this.#names().find(model, provider);
    return entry && toInfo(entry, this.traitsOf(entry.provider, entry.id), toDay(at));
  }

  /**
   * The known models by provider, newest first; those without a date last. Models that the provider no longer serves are
   * left out; `getModelInfo` still finds them.
   * @param provider Only models of this provider. All where absent.
   * @param capabilities Only models that have all of these.
   * @param at Models and prices are those of this moment.
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
   * A provider's newest model that is served at a moment and has the capabilities; a preview only where no stable model
   * has them. Of models of the same day, the more expensive one.
   */
  getLatestModel(
    provider: string,
    capabilities: readonly (Capability | CapabilityWord)[] = [],
    now = new Date(),
  ): ModelInfo | undefined {
    const day = toDay(now);
    const served = this.#matching(provider, capabilities).filter((entry) => isServed(entry, day));
    const latest = served.find(({ preview }) => preview !== true) ?? served[0];
    return latest && toInfo(latest, this.traitsOf(provider, latest.id), day);
  }

  /**
   * How a request to a model has to be written: the traits of its entry, else of its family, else the defaults. Works for
   * every id.
   */
  traitsOf(provider: string, model: string): ModelTraits {
    if (model.length > maxIdLength) return defaultTraits;
    const key = `${provider}\n${model}`;
    const known = this.#traits.get(key);
    if (known !== undefined) return known;
    const names = this.#names();
    const entry = names.find(model, provider);
    const traits = mergeTraits(names.findFamily(entry?.id ?? model, provider)?.traits, entry?.traits);
    // Ids come from callers: without a limit, invented ones would fill the memory.
    if (this.#traits.size >= maxCachedTraits) this.#traits.clear();
    this.#traits.set(key, traits);
    return traits;
  }

  /**
   * Whether two ids are one model: the same id, an alias, or an id and a snapshot of it. Two
   * snapshots of one model are two models.
   */
  sameModel(left: string, right: string, provider: string): boolean {
    if (left === right) return true;
    const a = this.#names().split(left, provider);
    const b = this.#names().split(right, provider);
    return a.id === b.id && (a.snapshot === "" || b.snapshot === "" || a.snapshot === b.snapshot);
  }

  /**
   * Price of a call, in billionths of a US dollar. Undefined where a price that it needs is
   * unknown, never 0 for that. `model` is best the one that the provider reports: providers answer
   * some ids with another model, at its price.
   */
  costOf(usage: Usage, model: string, provider: string, options: CostOptions = {}): bigint | undefined {
    const entry = this.#names().find(model, provider);
    if (entry === undefined) return undefined;
    const prices = pricesAt(entry, options.at ?? new Date());
    return costWith(prices, usage, options.longCacheWriteTokens);
  }

  /** The entry that was added for a model of a provider; undefined where the model has none of its own. */
  addedEntry(model: string, provider: string): CatalogEntry | undefined {
    if (this.#added.length === 0) return undefined;
    const entry = this.#names().find(model, provider);
    if (entry === undefined) return undefined;
    return this.#added.find(({ id, provider: owner }) => owner === provider && id === entry.id);
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

/** What a catalog has beside the shipped models. */
export interface CatalogOptions {
  /** Models of your own, and what differs in shipped ones. A later one overrides an earlier one. */
  readonly models?: readonly ModelSettings[] | undefined;
}

/**
 * The shipped catalog with models of your own.
 *
 * ```ts
 * const prices = { input: 3.75, output: 15 }; // US dollars per million tokens
 * const catalog = createCatalog({ models: [{ id: "ft:gpt-4o:acme", provider: "openai", prices }] });
 * const client = Client.fromEnv(process.env, { catalog });
 * ```
 * @throws ConfigurationError naming a value that cannot be right.
 */
export function createCatalog({ models = [] }: CatalogOptions = {}): Catalog {
  const added = models.map((settings, index) => toEntry(settings, `models[${index}]`));
  return new Catalog(catalogFile as CatalogData, added);
}

/** The catalog that the project ships. The functions below ask it. */
export const defaultCatalog: Catalog = createCatalog();

/** As {@link Catalog.getModelInfo}. */
export function getModelInfo(model: string, provider?: string): ModelInfo | undefined {
  return defaultCatalog.getModelInfo(model, provider);
}

/** As {@link Catalog.traitsOf}. */
export function traitsOf(provider: string, model: string): ModelTraits {
  return defaultCatalog.traitsOf(provider, model);
}

/** As {@link Catalog.sameModel}. */
export function sameModel(left: string, right: string, provider: string): boolean {
  return defaultCatalog.sameModel(left, right, provider);
}

/** As {@link Catalog.costOf}. */
export function costOf(
  usage: Usage,
  model: string,
  provider: string,
  options?: CostOptions,
): bigint | undefined {
  return defaultCatalog.costOf(usage, model, provider, options);
}

const maxCachedTraits = 1000;

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
