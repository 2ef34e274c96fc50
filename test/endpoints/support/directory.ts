import { type Catalog, defaultCatalog, ProviderModels } from "../../../src/catalog/catalog.ts";
import type { ModelAlias } from "../../../src/client/model-names.ts";
import { getCatalogProvider, type ProviderApi } from "../../../src/client/providers.ts";
import { ModelDirectory } from "../../../src/endpoints/models/model-directory.ts";

/** The parts of which a directory of models is made. */
export interface DirectoryParts {
  /** By name. Default: none. */
  readonly providers?: ReadonlyMap<string, ProviderApi>;
  /** Default: the first provider. */
  readonly defaultProvider?: string | undefined;
  readonly aliases?: Readonly<Record<string, ModelAlias>>;
  readonly catalog?: Catalog;
}

/** A directory as a Client with these providers has it. */
export function createDirectory({
  providers = new Map(),
  defaultProvider = [...providers.keys()][0],
  aliases = {},
  catalog = defaultCatalog,
}: DirectoryParts = {}): ModelDirectory {
  const models = [...providers].map(
    ([name, api]) => [name, new ProviderModels(catalog, name, getCatalogProvider(api))] as const,
  );
  const routing = { providers: new Map(models), defaultProvider, aliases };
  return new ModelDirectory({ providers, routing, catalog });
}
