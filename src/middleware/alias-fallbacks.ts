import type { MiddlewareMethods } from "../client/middleware.ts";
import type { ModelAlias } from "../client/model-names.ts";
import type { CallOptions } from "../core/adapter.ts";
import { createFallback, type FallbackKind, type FallbackTarget } from "./fallback.ts";
import type { MiddlewareObserver } from "./observer.ts";

/** An alias of a model, and the targets of its calls if they fail. */
export interface AliasWithFallbacks extends ModelAlias {
  /** As `targets` of `createFallback`. Default: none. */
  readonly fallbacks?: readonly FallbackTarget[] | undefined;
  /** Errors after which a call goes to the fallbacks, as `on` of `createFallback`. */
  readonly fallbackOn?: readonly FallbackKind[] | undefined;
}

/** Options of `createAliasFallbacks`. */
export interface AliasFallbackOptions {
  readonly observer?: MiddlewareObserver | undefined;
}

/**
 * Creates fallbacks for the calls whose requests name their model by an alias of the Client
 * (`ClientOptions.modelAliases`).
 * @param aliases The aliases of the Client. Aliases without fallbacks are skipped.
 * @throws ConfigurationError if the fallbacks of an alias are an empty list, or too many.
 */
export function createAliasFallbacks(
  aliases: Readonly<Record<string, AliasWithFallbacks>>,
  { observer }: AliasFallbackOptions = {},
): Required<MiddlewareMethods> {
  const chains = new Map<string, Required<MiddlewareMethods>>();
  for (const [name, { fallbacks: targets, fallbackOn: on }] of Object.entries(aliases))
    if (targets !== undefined) chains.set(name, createFallback({ targets, on, observer }));
  const find = ({ modelAlias = "" }: CallOptions) => chains.get(modelAlias);
  return {
    complete(request, next, options) {
      return find(options)?.complete(request, next, options) ?? next(request);
    },
    stream(request, next, options) {
      return find(options)?.stream(request, next, options) ?? next(request);
    },
  };
}
