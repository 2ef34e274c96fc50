/** The lookups of the model catalog. The catalog is advisory: unknown models pass through. */

import { defaultCatalog } from "../catalog/catalog.ts";
import type { CapabilityWord } from "../catalog/catalog-data.ts";
import type { Capability, ModelInfo } from "../gen/outrigger/v1/catalog_service_pb.ts";

/** Returns the model with that id or alias; undefined if the catalog does not know it. */
export function getModelInfo(model: string, provider?: string): ModelInfo | undefined {
  return defaultCatalog.getModelInfo(model, provider);
}

/**
 * Lists the known models by provider, newest first; only models that have all `capabilities`, as words (`"tools"`) or
 * as `Capability`. Models that are no longer served are left out.
 */
export function listModels(
  provider?: string,
  capabilities?: readonly (Capability | CapabilityWord)[],
): ModelInfo[] {
  return defaultCatalog.listModels(provider, capabilities);
}

/** Returns a provider's newest model that is served today and has all `capabilities`; undefined if none has. */
export function getLatestModel(
  provider: string,
  capabilities?: readonly (Capability | CapabilityWord)[],
): ModelInfo | undefined {
  return defaultCatalog.getLatestModel(provider, capabilities);
}
