import type { MiddlewareMethods } from "../client/middleware.ts";
import { chooseMiddleware, isWithin } from "../middleware/choose-middleware.ts";
import { createFallback } from "../middleware/fallback.ts";
import { createModelAliases } from "../middleware/model-aliases.ts";
import type { FallbackRule, MiddlewareConfig } from "./config.ts";

/** The middleware that a configuration asks for, outermost first. */
export function buildMiddleware({ modelAliases, fallbacks }: MiddlewareConfig): MiddlewareMethods[] {
  const middleware: MiddlewareMethods[] = [];
  if (Object.keys(modelAliases).length > 0) middleware.push(createModelAliases(modelAliases));
  if (fallbacks.length > 0) middleware.push(buildFallbacks(fallbacks));
  return middleware;
}

function buildFallbacks(rules: readonly FallbackRule[]): MiddlewareMethods {
  const chains = rules.map((rule) => ({ rule, chain: createFallback(rule) }));
  return chooseMiddleware((request) => chains.find(({ rule }) => isWithin(request, rule))?.chain);
}
