import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallOptions, CallTarget } from "../core/adapter.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";

/** Selects calls. A field that is left out matches all calls. */
export interface CallScope {
  /** Name under which the provider is registered. */
  readonly provider?: string | undefined;
  /**
   * The model as it is sent to the provider. Without a provider the rule for names of models applies: `anthropic/…`
   * matches the models of that provider alone.
   */
  readonly model?: string | undefined;
}

/**
 * Applies a middleware to the calls of one provider or model only: `onlyFor({ provider: "openai" }, createRateLimit({
 * requestsPerMinute: 500 }))`.
 */
export function onlyFor(scope: CallScope, middleware: MiddlewareMethods): Required<MiddlewareMethods> {
  return chooseMiddleware((request, options) => (isWithin(request, scope, options) ? middleware : undefined));
}

/** Reports whether a request goes to a provider and a model. */
export function isWithin(request: Request, scope: CallScope, { resolveModel }: CallOptions): boolean {
  const { provider, model } = resolveTarget(scope, request, resolveModel);
  return provider === request.provider && model === request.model;
}

/**
 * Resolves names of a provider, a model or both.
 * @param first The destination that supplies a name that is left out.
 */
export function resolveTarget(
  { provider, model }: CallScope,
  first: CallTarget,
  resolve: CallOptions["resolveModel"],
): CallTarget {
  const target = { provider: provider ?? first.provider, model: model ?? first.model };
  if (provider !== undefined || model === undefined) return target;
  return resolve?.({ provider: "", model }, first.provider) ?? target;
}

/** Creates a middleware that is chosen for each call. If `choose` returns undefined, the call passes unchanged. */
export function chooseMiddleware(
  choose: (request: Request, options: CallOptions) => MiddlewareMethods | undefined,
): Required<MiddlewareMethods> {
  return {
    complete(request, next, options) {
      return choose(request, options)?.complete?.(request, next, options) ?? next(request);
    },
    stream(request, next, options) {
      return choose(request, options)?.stream?.(request, next, options) ?? next(request);
    },
  };
}
