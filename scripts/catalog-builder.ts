import type { ModelInfo } from "@pydantic/genai-prices";
import type {
  CatalogData,
  CatalogEntry,
  ModelFamily,
  PriceTier,
  ProviderNaming,
} from "../src/catalog/catalog-data.ts";
import { fitsPattern } from "../src/catalog/model-names.ts";
import { microUsd, type Prices, readPrices } from "./catalog-prices.ts";

/** A price tier as the overlay writes it: US dollars per million tokens. */
interface OverlayTier {
  readonly above_input_tokens: number;
  readonly input: number;
  readonly output: number;
  readonly cache_read?: number;
  readonly cache_write?: number;
  readonly cache_write_long?: number;
}

/** The overlay's entry for a model; everything else comes from the source. */
interface OverlayModel extends Omit<CatalogEntry, "provider" | "prices" | "price_changes"> {
  /** The source's id for the model's prices, if it differs from the model's id. */
  readonly source_model?: string;
  /** Prices of a model that the source does not have. */
  readonly prices?: readonly OverlayTier[];
  readonly price_changes?: readonly { readonly from: string; readonly prices: readonly OverlayTier[] }[];
}

/** The overlay's entry for a provider. */
interface OverlayProvider extends ProviderNaming {
  /** The source's name for the provider. */
  readonly source_id: string;
  /** Capabilities of the provider's models unless their entries name others. */
  readonly capabilities: NonNullable<CatalogEntry["capabilities"]>;
  /** Wrong thresholds of price tiers in the source, and the right ones. */
  readonly tier_corrections?: Readonly<Record<string, number>>;
  /** Models of the source that are omitted, by pattern. */
  readonly ignored: readonly { readonly reason: string; readonly ids: readonly string[] }[];
  readonly models: readonly OverlayModel[];
}

/** The file `catalog-overlay.json`. */
export interface Overlay {
  readonly reviewed_at: string;
  readonly providers: readonly OverlayProvider[];
  readonly families: readonly ModelFamily[];
}

/** The data of the installed source. */
export interface Source {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** The models of a provider, by the source's name for the provider. */
  readonly getModels: (sourceId: string) => readonly ModelInfo[];
}

/**
 * Merges source and overlay. The overlay must list or ignore every model of the source, so that a
 * person reviews each new one.
 * @throws Error that names the provider and the models that do not fit.
 */
export function buildCatalog(source: Source, overlay: Overlay, retrievedAt: string): CatalogData {
  return {
    source: source.name,
    source_version: source.version,
    retrieved_at: retrievedAt,
    reviewed_at: overlay.reviewed_at,
    licence: source.licence,
    providers: overlay.providers.map(toNaming),
    families: overlay.families,
    models: overlay.providers.flatMap((provider) => listEntries(provider, source, retrievedAt)),
  };
}

/** The text of `catalog.json`. */
export function renderCatalog(catalog: CatalogData): string {
  return `${JSON.stringify(catalog, null, 2)}\n`;
}

function toNaming({ provider, id_prefixes, snapshots }: OverlayProvider): ProviderNaming {
  return { provider, ...(id_prefixes && { id_prefixes }), ...(snapshots && { snapshots }) };
}

function listEntries(provider: OverlayProvider, source: Source, day: string): CatalogEntry[] {
  const known = new Map(source.getModels(provider.source_id).map((model) => [model.id, model]));
  checkReviewed(provider, [...known.keys()]);
  return provider.models
    .map((model) => toEntry(provider, model, known.get(getSourceId(model)), day))
    .sort((left, right) => (left.id < right.id ? -1 : 1));
}

function toEntry(
  provider: OverlayProvider,
  model: OverlayModel,
  known: ModelInfo | undefined,
  day: string,
): CatalogEntry {
  const { source_model, prices, price_changes, aliases, traits, ...facts } = model;
  const contextWindow = model.context_window ?? known?.context_window;
  if (contextWindow === undefined)
    throw new Error(`${model.id}: the source has no context_window, the overlay must`);
  const names = [...(aliases ?? []), ...toSnapshots(provider, model, known)];
  return {
    id: model.id,
    provider: provider.provider,
    display_name: model.display_name ?? known?.name ?? model.id,
    context_window: contextWindow,
    ...(names.length > 0 && { aliases: [...new Set(names)].sort() }),
    capabilities: model.capabilities ?? provider.capabilities,
    ...dropKeys(facts, ["id", "display_name", "context_window", "capabilities"]),
    ...toPrices(provider, model, known, { day, contextWindow }),
    ...(traits && { traits }),
  };
}

function toPrices(
  provider: OverlayProvider,
  model: OverlayModel,
  known: ModelInfo | undefined,
  { day, contextWindow }: { day: string; contextWindow: number },
): Partial<Prices> {
  if (known !== undefined && model.prices !== undefined) {
    throw new Error(`${model.id}: the source has its prices now, remove them from the overlay`);
  }
  if (known === undefined && model.prices === undefined) {
    throw new Error(
      `${model.id}: ${provider.source_id} has no ${getSourceId(model)}, the overlay must have prices`,
    );
  }
  const { prices, price_changes } =
    known === undefined
      ? overlayPrices(model)
      : readPrices(known, {
          day,
          contextWindow,
          tierCorrections: provider.tier_corrections ?? {},
          embeds: model.capabilities?.includes("embeddings") ?? false,
        });
  return { prices, ...(price_changes.length > 0 && { price_changes }) };
}

function overlayPrices(model: OverlayModel): Prices {
  const tiers = (list: readonly OverlayTier[]) => list.map((tier) => toTier(model.id, tier));
  return {
    prices: tiers(model.prices ?? []),
    price_changes: (model.price_changes ?? []).map(({ from, prices }) => ({ from, prices: tiers(prices) })),
  };
}

function toTier(id: string, tier: OverlayTier): PriceTier {
  const { above_input_tokens, ...prices } = tier;
  const micros = Object.entries(prices).map(([name, dollars]) => [
    `${name}_micro_usd_per_million_tokens`,
    microUsd(dollars, `${id}, ${name}`),
  ]);
  return { above_input_tokens, ...Object.fromEntries(micros) };
}

/** The snapshots of a model that the source prices like the model itself. */
function toSnapshots(provider: OverlayProvider, model: OverlayModel, known: ModelInfo | undefined): string[] {
  const isSnapshot = (suffix: string) =>
    (provider.snapshots ?? []).some((pattern) => fitsPattern(pattern, suffix));
  return getEquals(known?.match).filter(
    (name) => name.startsWith(model.id) && isSnapshot(name.slice(model.id.length)),
  );
}

function getEquals(match: ModelInfo["match"] | undefined): string[] {
  if (match === undefined) return [];
  if ("equals" in match) return [match.equals];
  return "or" in match ? match.or.flatMap(getEquals) : [];
}

function getSourceId(model: OverlayModel): string {
  return model.source_model ?? model.id;
}

function checkReviewed(provider: OverlayProvider, sourceIds: readonly string[]): void {
  const patterns = provider.ignored.flatMap(({ ids }) => ids);
  const listed = new Set(provider.models.map(getSourceId));
  const both = [...listed].filter((id) => patterns.some((pattern) => fitsPattern(pattern, id)));
  refuse(provider, "listed and ignored", both);
  const unreviewed = sourceIds.filter(
    (id) => !listed.has(id) && !patterns.some((pattern) => fitsPattern(pattern, id)),
  );
  refuse(provider, "new in the source: list or ignore", unreviewed);
  const idle = patterns.filter((pattern) => !sourceIds.some((id) => fitsPattern(pattern, id)));
  refuse(provider, "ignored, but not in the source", idle);
}

function refuse(provider: OverlayProvider, what: string, ids: readonly string[]): void {
  if (ids.length > 0) throw new Error(`${provider.provider}: ${what}: ${ids.join(", ")}`);
}

function dropKeys<T extends object, K extends keyof T>(object: T, keys: readonly K[]): Omit<T, K> {
  const rest = { ...object };
  for (const key of keys) delete rest[key];
  return rest;
}
