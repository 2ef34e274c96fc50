import type { MiddlewareMethods } from "../client/middleware.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";

/** What an alias of a model stands for. */
export interface ModelAlias {
  /** Provider that serves the model. Undefined: the provider of the request. */
  readonly provider?: string | undefined;
  readonly model: string;
}

/**
 * Replaces a request's `model` where it is the name of an alias, and its `provider` where the alias has one. Aliases do
 * not refer to each other. Responses name the model and the provider that served the request.
 */
export function createModelAliases(aliases: ReadonlyMap<string, ModelAlias>): MiddlewareMethods {
  const resolve = (request: Request): Request => {
    const alias = aliases.get(request.model);
    if (alias === undefined) return request;
    return { ...request, model: alias.model, provider: alias.provider ?? request.provider };
  };
  return {
    complete: (request, next) => next(resolve(request)),
    stream: (request, next) => next(resolve(request)),
  };
}
