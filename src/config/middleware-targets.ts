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
  const ofAliases = Object.entries(modelAliases).flatMap(([name, alias]) => {
    const path = [...base, "model_aliases", name];
    const models = listAliasModels(alias);
    return [
      ...("targets" in alias
        ? getTargets(models, [...path, "targets"])
        : models.map((model) => ({ ...model, path }))),
      ...getTargets(alias.fallbacks, [...path, "fallbacks"]),
    ];
  });
  const ofRules = fallbacks.flatMap((rule, index) => {
    const path = [...base, "fallbacks", index];
    return [{ ...rule, path }, ...getTargets(rule.targets, [...path, "targets"])];
  });
  return [...ofAliases, ...ofRules];
}

function getTargets(targets: readonly CallScope[] = [], path: Path): NamedTarget[] {
  return targets.map((target, index) => ({ ...target, path: [...path, index] }));
}
