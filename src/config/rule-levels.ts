import type { Catalog } from "../catalog/catalog.ts";
import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallTarget } from "../core/adapter.ts";
import { chooseMiddleware } from "../middleware/choose-middleware.ts";
import type { ConfiguredModel, MiddlewareConfig } from "./config.ts";
import type { CallRules } from "./middleware-schema.ts";
import type { ReusableParts } from "./reusable-parts.ts";

/** The middleware of one kind, by the level of its rules. */
interface Levels {
  readonly all: MiddlewareMethods | undefined;
  readonly byProvider: ReadonlyMap<string, MiddlewareMethods>;
  readonly byModel: ReadonlyMap<string, MiddlewareMethods>;
}

/** Creates the middleware of a rule. @param scope The scope of the rule, for errors. */
type Create<Name extends keyof CallRules> = (
  rule: NonNullable<CallRules[Name]>,
  scope: string,
) => MiddlewareMethods;

/**
 * Creates the middleware of rules for all calls, for a provider, and for a model.
 * @param kept Keeps the middleware of rules that do not change, including its counts.
 */
export function createRuleLevels(
  { rules, providerRules }: MiddlewareConfig,
  models: readonly ConfiguredModel[],
  catalog: Catalog,
  kept: ReusableParts<MiddlewareMethods>,
) {
  // The key of the configured model that a call goes to, even if the call uses an alias or snapshot of the model.
  const getModel = ({ provider, model }: CallTarget) =>
    toKey(provider, catalog.addedEntry(model, provider)?.id ?? model);

  function getLevels<Name extends keyof CallRules>(
    name: Name,
    create: Create<Name>,
    context: unknown,
    isKept = true,
  ): Levels {
    const createLevel = ({ [name]: rule }: CallRules, scope: string) => {
      if (rule === undefined) return [];
      if (!isKept) return [create(rule, scope)];
      return [kept.keep(`${name} of ${scope}`, [rule, context], () => create(rule, scope))];
    };
    return {
      all: createLevel(rules, "this sidecar")[0],
      byProvider: new Map(
        [...providerRules].flatMap(([provider, callRules]) =>
          createLevel(callRules, provider).map((middleware) => [provider, middleware]),
        ),
      ),
      byModel: new Map(
        models.flatMap((model) =>
          createLevel(model.rules, `${model.provider}, ${model.id}`).map((middleware) => [
            toKey(model.provider, model.id),
            middleware,
          ]),
        ),
      ),
    };
  }

  return {
    /**
     * Returns middleware that applies the model's rule, or else the provider's rule, or else the rule for all calls.
     * Empty if there is no rule.
     * @param context Further settings on which the middleware depends: it is not kept if they change.
     */
    mostSpecific<Name extends keyof CallRules>(
      name: Name,
      create: Create<Name>,
      context?: unknown,
    ): MiddlewareMethods[] {
      const { all, byProvider, byModel } = getLevels(name, create, context);
      if (all === undefined && byProvider.size === 0 && byModel.size === 0) return [];
      return [
        chooseMiddleware(
          (request) => byModel.get(getModel(request)) ?? byProvider.get(request.provider) ?? all,
        ),
      ];
    },

    /**
     * Returns middleware that applies the rules for all calls, for the provider and for the model, nested in this
     * order.
     * @param isKept Whether middleware is kept. False if `create` keeps its counts itself.
     */
    everyLevel<Name extends keyof CallRules>(
      name: Name,
      create: Create<Name>,
      isKept = true,
    ): MiddlewareMethods[] {
      const { all, byProvider, byModel } = getLevels(name, create, undefined, isKept);
      const providerLevel = chooseMiddleware(({ provider }) => byProvider.get(provider));
      const modelLevel = chooseMiddleware((request) => byModel.get(getModel(request)));
      return [
        ...(all === undefined ? [] : [all]),
        ...(byProvider.size === 0 ? [] : [providerLevel]),
        ...(byModel.size === 0 ? [] : [modelLevel]),
      ];
    },
  };
}

function toKey(provider: string, id: string): string {
  return `${provider}\n${id}`;
}
