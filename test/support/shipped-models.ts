import { defaultCatalog, ProviderModels } from "../../src/catalog/catalog.ts";

/** Returns the shipped catalog as seen by a provider. */
export function shippedModels(provider: string): ProviderModels {
  return new ProviderModels(defaultCatalog, provider, provider);
}
