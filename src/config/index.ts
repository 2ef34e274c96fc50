/** The configuration of a sidecar, and the Client that is built from it. */
import { Client } from "../client/client.ts";
import type { Middleware } from "../client/middleware.ts";
import { createModelAliases } from "../client/model-aliases.ts";
import { createAdapter } from "../client/providers.ts";
import type { ProviderAdapter } from "../core/adapter.ts";
import { ConfigurationError } from "../core/errors.ts";
import type { ClientConfig, MiddlewareConfig } from "./config.ts";
import { mistakes } from "./load-config.ts";

export type { ClientConfig, Config } from "./config.ts";
export { type ConfigFlags, loadConfig } from "./load-config.ts";

/**
 * Makes the adapters, the middleware and the Client. Throws ConfigurationError naming every provider that cannot be
 * made.
 */
export function buildClient({ providers, defaultProvider, middleware, remedy }: ClientConfig): Client {
  const adapters: Record<string, ProviderAdapter> = {};
  const problems: string[] = [];
  for (const [name, settings] of providers) {
    try {
      adapters[name] = createAdapter(name, settings);
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
      middleware: buildMiddleware(middleware),
    },
    remedy,
  );
}

/** The middleware that a configuration asks for, outermost first. */
function buildMiddleware({ modelAliases }: MiddlewareConfig): Middleware[] {
  const middleware: Middleware[] = [];
  if (modelAliases.size > 0) middleware.push(createModelAliases(modelAliases));
  return middleware;
}
