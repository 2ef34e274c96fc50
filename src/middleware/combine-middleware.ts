import { wrapComplete, wrapStream } from "../client/apply-middleware.ts";
import type { MiddlewareMethods } from "../client/middleware.ts";

/** Combines several middleware to one; the first one is outermost. */
export function combineMiddleware(middleware: readonly MiddlewareMethods[]): MiddlewareMethods {
  const [only, ...others] = middleware;
  if (only !== undefined && others.length === 0) return only;
  return {
    complete: (request, next, options) => wrapComplete(middleware, next)(request, options),
    stream: (request, next, options) => wrapStream(middleware, next)(request, options),
  };
}
