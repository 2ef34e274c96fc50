/** The one rule by which the name of a model leads to a provider and its model. docs/models.md explains it. */
import type { ProviderModels } from "../catalog/catalog.ts";
import type { CallTarget } from "../core/adapter.ts";

/** A model by its name, for an alias. */
export interface NamedModel {
  /** Provider that serves the model. If undefined, chosen by the prefix of the model, else the default provider. */
  readonly provider?: string | undefined;
  readonly model: string;
}

/**
 * Several models with one alias. `createAliasRouting` chooses among them for each call; without it, the first one
 * serves all calls.
 */
export interface ModelTargets {
  /** At least one. */
  readonly targets: readonly NamedModel[];
}

/** The model of an alias, or several. */
export type ModelAlias = NamedModel | ModelTargets;

/** The inputs of the rule for names of models. */
export interface ModelRouting {
  /** The models of the registered providers, in the order of registration. */
  readonly providers: ReadonlyMap<string, ProviderModels>;
  /** Undefined if there is none. */
  readonly defaultProvider: string | undefined;
  /** Models by the names that requests may use for them. */
  readonly aliases: Readonly<Record<string, ModelAlias>>;
}

/** The destination of a request. */
export interface ResolvedModel extends CallTarget {
  /** The alias that the request named. */
  readonly alias?: string;
  /** The targets of the alias, if it has several. The first one is this destination. */
  readonly targets?: readonly CallTarget[];
  /** Whether the request named no model, so that the newest one was chosen. */
  readonly isChosen?: boolean;
}

/** Options of `resolveModel`. */
export interface ResolveOptions {
  /**
   * Whether a name without a provider goes to the provider for which the catalog lists it, for APIs that have no field
   * for a provider. Default false.
   */
  readonly usesCatalog?: boolean;
}

/**
 * Returns the destination of a request that names this provider and model; either may be empty. The first rule that
 * applies:
 *
 * 1. The provider that the request names, with the model as it is.
 * 2. The target of an alias; the first one if it has several.
 * 3. `provider/model`, if the part before the first slash is exactly the name of a registered provider.
 * 4. With `usesCatalog`: the default provider if the catalog lists the model for it, else the first registered provider
 *   for which it lists the model.
 * 5. The default provider, empty if there is none, with the model as it is.
 *
 * Without a model it is the provider's newest one in the catalog; the model stays empty if the catalog has none.
 */
export function resolveModel(
  { provider, model }: CallTarget,
  routing: ModelRouting,
  { usesCatalog = false }: ResolveOptions = {},
): ResolvedModel {
  const { aliases, defaultProvider = "" } = routing;
  if (provider !== "") return model === "" ? chooseModel(provider, routing) : { provider, model };
  if (Object.hasOwn(aliases, model)) return { ...resolveAlias(aliases[model], routing), alias: model };
  const prefixed = splitName(model, routing);
  if (prefixed !== undefined) return prefixed;
  if (model === "") return chooseModel(defaultProvider, routing);
  const listed = usesCatalog ? findProvider(model, routing) : undefined;
  return { provider: listed ?? defaultProvider, model };
}

/** Returns the registered provider for which the catalog lists a model, the default provider first. */
export function findProvider(
  model: string,
  { providers, defaultProvider = "" }: ModelRouting,
): string | undefined {
  return [defaultProvider, ...providers.keys()].find((name) => providers.get(name)?.hasModel(model) === true);
}

/** Returns the models of an alias, in their order. */
export function listAliasModels(alias: ModelAlias): readonly NamedModel[] {
  return "targets" in alias ? alias.targets : [alias];
}

function resolveAlias(
  alias: ModelAlias | undefined,
  routing: ModelRouting,
): CallTarget & Pick<ResolvedModel, "targets"> {
  const models = alias === undefined ? [] : listAliasModels(alias);
  const targets = models.map((model) => resolveAliasModel(model, routing));
  const first = targets[0] ?? { provider: routing.defaultProvider ?? "", model: "" };
  return targets.length > 1 ? { ...first, targets } : first;
}

/** Resolves a model of an alias. Aliases do not refer to each other. */
function resolveAliasModel({ provider, model }: NamedModel, routing: ModelRouting): CallTarget {
  if (provider !== undefined) return { provider, model };
  return splitName(model, routing) ?? { provider: routing.defaultProvider ?? "", model };
}

/** Returns the parts of `provider/model`. Undefined if the name is not of this form. */
function splitName(name: string, { providers }: ModelRouting): CallTarget | undefined {
  const slash = name.indexOf("/");
  if (slash <= 0 || slash === name.length - 1) return undefined;
  const provider = name.slice(0, slash);
  return providers.has(provider) ? { provider, model: name.slice(slash + 1) } : undefined;
}

/** Returns the newest model of a provider in the catalog; the model is empty if there is none. */
function chooseModel(provider: string, { providers }: ModelRouting): ResolvedModel {
  const newest = providers.get(provider)?.getLatestModel();
  return newest === undefined ? { provider, model: "" } : { provider, model: newest.id, isChosen: true };
}
