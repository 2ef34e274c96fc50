/** Builds the Client of a configuration. */
import { type Catalog, createCatalog, defaultCatalog } from "../catalog/catalog.ts";
import { Client } from "../client/client.ts";
import { createAdapter, type ProviderSettings } from "../client/providers.ts";
import type { ProviderAdapter } from "../core/adapter.ts";
import { ConfigurationError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { buildMiddleware, type MiddlewareParts } from "./build-middleware.ts";
import type { ClientConfig } from "./config.ts";
import { KeptParts } from "./kept-parts.ts";
import { KeyFiles } from "./key-files.ts";
import { mistakes } from "./problems.ts";
import { RotatingAdapter } from "./rotating-adapter.ts";

/**
 * Opens the key files of a configuration, with the keys that were read with the configuration.
 * @param earlier The key files of the configuration before, if there was one.
 */
export function openKeyFiles({ providers, keyFiles }: ClientConfig, log: Log, earlier?: KeyFiles): KeyFiles {
  const keys = [...providers].map(([name, settings]) => [name, toKey(settings)] as const);
  return new KeyFiles(keyFiles, new Map(keys), log, earlier);
}

function toKey(settings: ProviderSettings): string {
  return settings.api === "command" ? "" : (settings.apiKey ?? "");
}

/** Creates the catalog of a configuration: the shipped one, with added and changed models. */
export function createCatalogWith({ models }: ClientConfig): Catalog {
  return models.length === 0 ? defaultCatalog : createCatalog({ models });
}

/** The parts that the Client of a configuration uses. */
export interface ClientParts extends MiddlewareParts {
  readonly keyFiles: KeyFiles;
}

/**
 * Creates the adapters, the middleware and the Client. Throws a ConfigurationError that names every provider that
 * cannot be created.
 */
export function buildClient(config: ClientConfig, { keyFiles, ...parts }: ClientParts): Client {
  const { providers, keyOrigins, defaultProvider, remedy } = config;
  const comparable = new Map([...providers.keys()].map((name) => [name, toComparable(name, config)]));
  const keptAdapters = parts.kept?.adapters ?? new KeptParts();
  const adapters: Record<string, ProviderAdapter> = {};
  const problems: string[] = [];
  for (const [name, found] of providers) {
    const keyFile = keyFiles.of(name);
    const settings = found.api === "command" ? found : { ...found, keyOrigin: keyOrigins?.get(name) };
    const create = () =>
      keyFile === undefined || settings.api === "command"
        ? createAdapter(name, settings)
        : new RotatingAdapter(name, settings, keyFile);
    try {
      adapters[name] = keptAdapters.keep(name, comparable.get(name), create);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.push(`provider ${name}: ${error.message}`);
    }
  }
  if (problems.length > 0) throw mistakes(problems);
  const [first] = providers.keys();
  return new Client(
    {
      providers: adapters,
      defaultProvider: defaultProvider ?? first,
      modelAliases: config.middleware.modelAliases,
      middleware: buildMiddleware(config, parts, comparable),
      catalog: parts.catalog,
      fieldPaths: "contract",
    },
    remedy,
  );
}

/**
 * Returns the settings by which a provider is compared with the one of another configuration. Keys and certificates in
 * files are followed by its adapter, so only their paths count.
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
