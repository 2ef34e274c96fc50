/** Builds the Client of a configuration. */
import { type Catalog, createCatalog, defaultCatalog } from "../catalog/catalog.ts";
import { Client } from "../client/client.ts";
import { createAdapter } from "../client/providers.ts";
import type { ProviderAdapter } from "../core/adapter.ts";
import { ConfigurationError } from "../core/errors.ts";
import { buildMiddleware, type MiddlewareParts } from "./build-middleware.ts";
import type { ClientConfig } from "./config.ts";
import { KeyFile } from "./key-files.ts";
import { toConfigurationError } from "./problems.ts";
import { ReusableClientParts } from "./reusable-parts.ts";
import { createRotatingAdapter } from "./rotating-adapter.ts";

/** Creates the catalog of a configuration: the shipped one, with added and changed models. */
export function createCatalogWith({ models }: ClientConfig): Catalog {
  return models.length === 0 ? defaultCatalog : createCatalog({ models });
}

/**
 * Creates the adapters, the middleware and the Client. Throws a ConfigurationError that names every provider that
 * cannot be created.
 */
export function buildClient(config: ClientConfig, parts: MiddlewareParts): Client {
  const { providers, keyFiles, keyOrigins, defaultProvider, remedy } = config;
  const { kept = new ReusableClientParts(), log } = parts;
  const comparable = new Map([...providers.keys()].map((name) => [name, toComparable(name, config)]));
  const adapters: Record<string, ProviderAdapter> = {};
  const problems: string[] = [];
  const openKeyFile = (name: string, key = "") => {
    const path = keyFiles.get(name);
    if (path === undefined) return undefined;
    return kept.keyFiles.keep(name, path, () => new KeyFile(name, path, key, log));
  };
  for (const [name, found] of providers) {
    const settings = found.api === "command" ? found : { ...found, keyOrigin: keyOrigins?.get(name) };
    const keyFile = settings.api === "command" ? undefined : openKeyFile(name, settings.apiKey);
    const create = () =>
      keyFile === undefined || settings.api === "command"
        ? createAdapter(name, settings)
        : createRotatingAdapter(name, settings, keyFile);
    try {
      adapters[name] = kept.adapters.keep(name, comparable.get(name), create);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.push(`provider ${name}: ${error.message}`);
    }
  }
  if (problems.length > 0) throw toConfigurationError(problems);
  const [first] = providers.keys();
  return new Client(
    {
      providers: adapters,
      defaultProvider: defaultProvider ?? first,
      modelAliases: config.middleware.modelAliases,
      middleware: buildMiddleware(config, { ...parts, kept }, comparable),
      catalog: parts.catalog,
      fieldPaths: "contract",
    },
    remedy,
  );
}

/**
 * Returns the settings that decide whether a provider differs between two configurations. Only the paths of key and
 * certificate files count, since its adapter follows their contents.
 */
function toComparable(name: string, { providers, keyFiles, keyOrigins, tlsPaths }: ClientConfig): unknown {
  const settings = providers.get(name);
  if (settings === undefined || settings.api === "command") return settings;
  return {
    ...settings,
    keyOrigin: keyOrigins?.get(name),
    apiKey: keyFiles.get(name) ?? settings.apiKey,
    tls: tlsPaths?.get(name),
  };
}
