import type { MiddlewareMethods } from "../client/middleware.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { createFallback, type FallbackKind, type FallbackTarget } from "./fallback.ts";
import type { MiddlewareObserver } from "./observer.ts";

/** What an alias of a model stands for. */
export interface ModelAlias {
  /** Provider that serves the model. Undefined: the provider of the request. */
  readonly provider?: string | undefined;
  readonly model: string;
  /** Where a call goes that fails there, as `targets` of `createFallback`. Default: nowhere. */
  readonly fallbacks?: readonly FallbackTarget[] | undefined;
  /** Errors after which it goes there, as `on` of `createFallback`. */
  readonly fallbackOn?: readonly FallbackKind[] | undefined;
}

/** Options of `createModelAliases`. */
export interface ModelAliasOptions {
  readonly observer?: MiddlewareObserver | undefined;
}

/**
 * Replaces a request's `model` where it is the name of an alias, and its `provider` where the alias has one. Aliases do
 * not refer to each other. Responses name the model and the provider that served the request.
 * @throws ConfigurationError where the fallbacks of an alias are none.
 */
export function createModelAliases(
  aliases: Readonly<Record<string, ModelAlias>>,
  { observer }: ModelAliasOptions = {},
): Required<MiddlewareMethods> {
  const targets = new Map<string, Target>();
  for (const [name, alias] of Object.entries(aliases)) targets.set(name, targetOf(alias, observer));
  const resolve = (request: Request) => {
    const target = targets.get(request.model);
    if (target === undefined) return { resolved: request, fallback: undefined };
    const { alias, fallback } = target;
    const resolved = { ...request, model: alias.model, provider: alias.provider ?? request.provider };
    return { resolved, fallback };
  };
  return {
    complete(request, next, options) {
      const { resolved, fallback } = resolve(request);
      return fallback === undefined ? next(resolved) : fallback.complete(resolved, next, options);
    },
    stream(request, next, options) {
      const { resolved, fallback } = resolve(request);
      return fallback === undefined ? next(resolved) : fallback.stream(resolved, next, options);
    },
  };
}

interface Target {
  readonly alias: ModelAlias;
  readonly fallback: Required<MiddlewareMethods> | undefined;
}

function targetOf(alias: ModelAlias, observer: MiddlewareObserver | undefined): Target {
  const { fallbacks: targets, fallbackOn: on } = alias;
  return { alias, fallback: targets === undefined ? undefined : createFallback({ targets, on, observer }) };
}
