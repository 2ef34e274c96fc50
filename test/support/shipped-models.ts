import { defaultCatalog } from "../../src/catalog/catalog.ts";
import { ProviderModels } from "../../src/catalog/provider-models.ts";

/** Returns the shipped catalog as seen by a provider. */
export function shippedModels(provider: string): ProviderModels {
  return new ProviderModels(defaultCatalog, provider, provider);
}
