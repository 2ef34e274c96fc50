import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ConfigurationError } from "../core/errors.ts";
import {
  Capability,
  type ModelInfo,
  ModelInfoSchema,
  type PriceSchema,
} from "../gen/outrigger/v1/catalog_service_pb.ts";
import { type CapabilityWord, type CatalogEntry, capabilityWords, type PriceTier } from "./catalog-data.ts";
import { pricesOn } from "./model-cost.ts";
import { isReasoningModel, type ModelTraits } from "./model-traits.ts";

/**
 * Converts an entry to a message of the contract, with the prices of a day. Creates a new object each time: the caller
 * may change it.
 */
export function toInfo(entry: CatalogEntry, traits: ModelTraits, day: string): ModelInfo {
  return create(ModelInfoSchema, {
    id: entry.id,
    provider: entry.provider,
    displayName: entry.display_name ?? entry.id,
    contextWindow: entry.context_window ?? 0,
    maxOutputTokens: entry.max_output_tokens,
    aliases: [...(entry.aliases ?? [])],
    capabilities: [...getCapabilities(entry, traits)].sort((left, right) => left - right),
    reasoningEfforts: [...(traits.reasoningEfforts ?? [])],
    prices: pricesOn(entry, day).map(toPrice),
    releaseDate: entry.release_date ?? "",
    endOfLifeDate: entry.end_of_life_date ?? "",
    embeddingDimensions: entry.embedding_dimensions,
  });
}

/** Reports whether a model only embeds texts. */
export function isEmbeddingModel({ capabilities = [] }: CatalogEntry): boolean {
  return capabilities.includes("embeddings");
}

/** Returns the capabilities of a model: the ones in its entry, and the ones that follow from its traits. */
export function getCapabilities(entry: CatalogEntry, traits: ModelTraits): Set<Capability> {
  const has = new Set((entry.capabilities ?? []).map(toNumber));
  if (isEmbeddingModel(entry)) return has;
  if (isReasoningModel(traits)) has.add(Capability.REASONING);
  if (traits.jsonSchema) has.add(Capability.STRUCTURED_OUTPUT);
  if (traits.sampling !== "never") has.add(Capability.SAMPLING);
  if (cachesPrompts(entry, traits)) has.add(Capability.PROMPT_CACHING);
  return has;
}

/**
 * Returns a capability by its number or its word.
 * @throws ConfigurationError for an unknown word.
 */
export function toCapability(capability: Capability | CapabilityWord): Capability {
  if (typeof capability === "number") return capability;
  if (capabilityWords.includes(capability)) return toNumber(capability);
  const words = capabilityWords.join(", ");
  throw new ConfigurationError(`expected a capability, one of ${words}; found ${JSON.stringify(capability)}`);
}

/** Returns the capabilities of a model in words: `["tools", "image_input"]`. Unknown ones are left out. */
export function capabilityNames({ capabilities }: ModelInfo): CapabilityWord[] {
  return capabilities.flatMap(
    (capability) => capabilityWords.find((word) => toNumber(word) === capability) ?? [],
  );
}

function toNumber(word: CapabilityWord): Capability {
  return Capability[word.toUpperCase() as Uppercase<CapabilityWord>];
}

function cachesPrompts(entry: CatalogEntry, traits: ModelTraits): boolean {
  const priced =
    entry.prices?.some((tier) => tier.cache_read_micro_usd_per_million_tokens !== undefined) ?? false;
  return priced || traits.cacheMinimumTokens !== undefined;
}

function toPrice(tier: PriceTier): MessageInitShape<typeof PriceSchema> {
  const { cache_read_micro_usd_per_million_tokens: read, cache_write_micro_usd_per_million_tokens: write } =
    tier;
  return {
    aboveInputTokens: tier.above_input_tokens,
    inputMicroUsdPerMillionTokens: BigInt(tier.input_micro_usd_per_million_tokens),
    outputMicroUsdPerMillionTokens: BigInt(tier.output_micro_usd_per_million_tokens),
    ...(read !== undefined && { cacheReadMicroUsdPerMillionTokens: BigInt(read) }),
    ...(write !== undefined && { cacheWriteMicroUsdPerMillionTokens: BigInt(write) }),
  };
}
