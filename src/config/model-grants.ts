/** Which models an access key may use. */
import { type ModelRouting, resolveModel } from "../client/model-names.ts";
import type { CallTarget } from "../core/adapter.ts";
import type { RoutedAlias } from "../middleware/alias-routing.ts";
import { resolveTarget } from "../middleware/choose-middleware.ts";

/** The aliases and the routing that resolve the models of an access key. */
export interface ModelNames {
  readonly routing: ModelRouting;
  readonly aliases: Readonly<Record<string, RoutedAlias>>;
}

/** A model that may be used. Each of the two names may contain one `*`, which stands for any text. */
interface ModelGrant {
  readonly provider: string;
  readonly model: string;
}

/** The models that an entry allows, or the problem in the entry. */
type Granted = { readonly grants: readonly ModelGrant[] } | { readonly problem: string };

/**
 * Reads an entry of `models`: `provider/model`, `model` (of any provider) or the name of an alias, which allows all
 * targets of the alias, including its fallbacks.
 */
export function readModelGrant(entry: string, { routing, aliases }: ModelNames): Granted {
  const providers = [...routing.providers.keys()];
  const aliasGrants = Object.hasOwn(aliases, entry)
    ? resolveAliasGrants(entry, aliases[entry]?.fallbacks, routing)
    : [];
  const slash = entry.indexOf("/");
  const named = { provider: slash < 0 ? "*" : entry.slice(0, slash), model: entry.slice(slash + 1) };
  const isKnownProvider = providers.some((name) => fits(named.provider, name));
  if (!isKnownProvider && aliasGrants.length > 0) return { grants: aliasGrants };
  if (!isKnownProvider)
    return { problem: `expected the name of a provider before "/": ${providers.join(", ")}` };
  if ([named.provider, named.model].some((name) => name === "" || name.split("*").length > 2))
    return { problem: 'expected a name on each side of "/", with at most one "*" in it' };
  return { grants: [named, ...aliasGrants] };
}

/** Returns a function that reports whether any of the grants allows a model of a provider. */
export function createModelCheck(grants: readonly ModelGrant[]) {
  return (provider: string, model: string): boolean =>
    grants.some((grant) => fits(grant.provider, provider) && fits(grant.model, model));
}

function resolveAliasGrants(
  name: string,
  fallbacks: RoutedAlias["fallbacks"] = [],
  routing: ModelRouting,
): ModelGrant[] {
  const first = resolveModel({ provider: "", model: name }, routing);
  const targets = first.targets ?? [first];
  const resolve = (target: CallTarget, defaultProvider: string) =>
    resolveModel(target, { ...routing, defaultProvider });
  return targets.flatMap((target) => [
    target,
    ...fallbacks.map((fallback) => resolveTarget(fallback, target, resolve)),
  ]);
}

/** Reports whether a name fits a pattern, in which one `*` stands for any text. */
export function fits(pattern: string, name: string): boolean {
  const star = pattern.indexOf("*");
  if (star < 0) return pattern === name;
  const end = pattern.slice(star + 1);
  return name.length >= pattern.length - 1 && name.startsWith(pattern.slice(0, star)) && name.endsWith(end);
}
