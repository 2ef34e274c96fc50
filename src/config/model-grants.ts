/** Which models an access key may use. */
import type { ModelAlias } from "../middleware/model-aliases.ts";

/** What the names of an access key's models refer to. */
export interface ModelNames {
  /** Names of the registered providers. */
  readonly providers: readonly string[];
  readonly aliases: Readonly<Record<string, ModelAlias>>;
}

/** A model that may be used. Each of the two is a name, in which one `*` stands for any text. */
interface ModelGrant {
  readonly provider: string;
  readonly model: string;
}

/** Reads a name and gives what it allows, or what is wrong with it. */
type Granted = { readonly grants: readonly ModelGrant[] } | { readonly problem: string };

/**
 * What an entry of `models` allows: `provider/model`, `model` (of any provider) or the name of an alias, which allows what
 * the alias stands for, its fallbacks included.
 */
export function readModelGrant(entry: string, { providers, aliases }: ModelNames): Granted {
  const alias = Object.hasOwn(aliases, entry) ? aliases[entry] : undefined;
  const ofAlias = alias === undefined ? [] : grantsOfAlias(alias);
  const slash = entry.indexOf("/");
  const own = { provider: slash < 0 ? "*" : entry.slice(0, slash), model: entry.slice(slash + 1) };
  const isPlace = providers.some((name) => fits(own.provider, name));
  if (!isPlace && ofAlias.length > 0) return { grants: ofAlias };
  if (!isPlace) return { problem: `expected the name of a provider before "/": ${providers.join(", ")}` };
  if ([own.provider, own.model].some((name) => name === "" || name.split("*").length > 2))
    return { problem: 'expected a name on each side of "/", with at most one "*" in it' };
  return { grants: [own, ...ofAlias] };
}

/** Whether one of several grants allows a model of a provider. */
export function createModelCheck(grants: readonly ModelGrant[]) {
  return (provider: string, model: string): boolean =>
    grants.some((grant) => fits(grant.provider, provider) && fits(grant.model, model));
}

/** An alias without a provider is for the provider of the request. */
function grantsOfAlias({ provider = "*", model, fallbacks = [] }: ModelAlias): ModelGrant[] {
  const targets = fallbacks.map((target) => ({
    provider: target.provider ?? provider,
    model: target.model ?? model,
  }));
  return [{ provider, model }, ...targets];
}

function fits(pattern: string, name: string): boolean {
  const star = pattern.indexOf("*");
  if (star < 0) return pattern === name;
  const end = pattern.slice(star + 1);
  return name.length >= pattern.length - 1 && name.startsWith(pattern.slice(0, star)) && name.endsWith(end);
}
