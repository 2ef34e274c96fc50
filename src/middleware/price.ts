import type { Catalog } from "../catalog/catalog.ts";
import type { CallTarget } from "../core/adapter.ts";
import type { Usage } from "../gen/outrigger/v1/usage_pb.ts";

/** The methods of a catalog that know prices. */
export type Prices = Pick<Catalog, "costOf" | "getModelInfo">;

/**
 * Returns the price of a usage in billionths of a US dollar; undefined if it is unknown. Looks it up for the name of
 * the provider, else for the catalog's provider of the model.
 */
export function getPrice(catalog: Prices, usage: Usage, { provider, model }: CallTarget): bigint | undefined {
  const price = catalog.costOf(usage, model, provider);
  const owner = price === undefined ? catalog.getModelInfo(model)?.provider : undefined;
  return owner === undefined ? price : catalog.costOf(usage, model, owner);
}
