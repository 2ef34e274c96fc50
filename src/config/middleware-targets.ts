import { listAliasModels } from "../client/model-names.ts";
import type { CallScope } from "../middleware/choose-middleware.ts";
import type { MiddlewareConfig } from "./config.ts";
import type { Path } from "./problems.ts";

/** A part of a configuration that names a provider, a model or both. */
interface NamedTarget extends CallScope {
  readonly path: Path;
}

/** Lists the providers and models that the middleware of a configuration names. */
export function middlewareTargets({ modelAliases, fallbacks }: MiddlewareConfig): NamedTarget[] {
  const base = ["middleware"];
  const aliasTargets = Object.entries(modelAliases).flatMap(([name, alias]) => {
    const path = [...base, "model_aliases", name];
    const models = listAliasModels(alias);
    return [
      ...("targets" in alias
        ? locateTargets(models, [...path, "targets"])
        : models.map((model) => ({ ...model, path }))),
      ...locateTargets(alias.fallbacks, [...path, "fallbacks"]),
    ];
  });
  const fallbackTargets = fallbacks.flatMap((rule, index) => {
    const path = [...base, "fallbacks", index];
    return [{ ...rule, path }, ...locateTargets(rule.targets, [...path, "targets"])];
  });
  return [...aliasTargets, ...fallbackTargets];
}

function locateTargets(targets: readonly CallScope[] = [], path: Path): NamedTarget[] {
  return targets.map((target, index) => ({ ...target, path: [...path, index] }));
}
