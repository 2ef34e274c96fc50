/** The configuration of a sidecar, and the Client that is built from it. */
import { type Catalog, createCatalog, defaultCatalog } from "../catalog/catalog.ts";
import { Client } from "../client/client.ts";
import { createAdapter, type ProviderSettings } from "../client/providers.ts";
import type { ProviderAdapter } from "../core/adapter.ts";
import { ConfigurationError } from "../core/errors.ts";
import type { MiddlewareObserver } from "../middleware/observer.ts";
import type { AttemptLog } from "./attempt-log.ts";
import { buildMiddleware } from "./build-middleware.ts";
import type { ClientConfig } from "./config.ts";
import { type KeyFileLog, KeyFiles } from "./key-files.ts";
import { mistakes } from "./load-config.ts";
import { RotatingAdapter } from "./rotating-adapter.ts";

export { AccessKeysFile } from "./access-keys.ts";
export type { ClientConfig, Config, ListenersConfig } from "./config.ts";
export type { KeyFiles } from "./key-files.ts";
export { type ConfigFlags, loadConfig } from "./load-config.ts";
export { middlewareTargets } from "./middleware-targets.ts";
export { openRunStore } from "./open-run-store.ts";
export type { RunsConfig } from "./runs.ts";
export type { ListenerTls, TlsFiles } from "./tls-files.ts";

/** Opens the key files of a configuration, with the keys that were read with the configuration. */
export function openKeyFiles({ providers, keyFiles }: ClientConfig, log: KeyFileLog): KeyFiles {
  const keys = [...providers].map(([name, settings]) => [name, toKey(settings)] as const);
  return new KeyFiles(keyFiles, new Map(keys), log);
}

function toKey(settings: ProviderSettings): string {
  return settings.api === "command" ? "" : (settings.apiKey ?? "");
}

/** Creates the catalog of a configuration: the shipped one, with added and changed models. */
export function createCatalogWith({ models }: ClientConfig): Catalog {
  return models.length === 0 ? defaultCatalog : createCatalog({ models });
}

/** The parts that the Client of a configuration uses. */
export interface ClientParts {
  readonly keyFiles: KeyFiles;
  /** As returned by `createCatalogWith`. */
  readonly catalog: Catalog;
  /** Takes the entries of `logging`. */
  readonly log: AttemptLog;
  /** Is notified of the middleware's decisions. */
  readonly observer?: MiddlewareObserver | undefined;
}

/**
 * Creates the adapters, the middleware and the Client. Throws a ConfigurationError that names every provider that
 * cannot be created.
 */
export function buildClient(
  { providers, keyOrigins, defaultProvider, middleware, models, hasCallers, remedy }: ClientConfig,
  { keyFiles, catalog, log, observer }: ClientParts,
): Client {
  const adapters: Record<string, ProviderAdapter> = {};
  const problems: string[] = [];
  for (const [name, found] of providers) {
    const keyFile = keyFiles.of(name);
    const settings = found.api === "command" ? found : { ...found, keyOrigin: keyOrigins?.get(name) };
    try {
      adapters[name] =
        keyFile === undefined || settings.api === "command"
          ? createAdapter(name, settings)
          : new RotatingAdapter(name, settings, keyFile);
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
      modelAliases: middleware.modelAliases,
      middleware: buildMiddleware(middleware, { models, catalog, hasCallers, log, observer }),
      catalog,
      fieldPaths: "contract",
    },
    remedy,
  );
}
