import type { MiddlewareMethods } from "../client/middleware.ts";
import type { NamedModel } from "../client/model-names.ts";
import { chooseMiddleware } from "./choose-middleware.ts";
import { combineMiddleware } from "./combine-middleware.ts";
import {
  createChain,
  createFallback,
  type FallbackKind,
  type FallbackTarget,
  isChained,
} from "./fallback.ts";
import { createHedge, type HedgeOptions } from "./hedge.ts";
import type { MiddlewareObserver } from "./observer.ts";
import { createEjectionRule, type OutlierEjection } from "./outlier-ejection.ts";
import type { Prices } from "./price.ts";
import type { StickyField } from "./sticky-key.ts";
import { type AliasTarget, TargetChoice, type TargetStrategy } from "./target-choice.ts";
import { type CallEnd, watchCalls } from "./watch-stream.ts";

/** An alias of one or several models, with the routing rules of its calls. */
export type RoutedAlias = (NamedModel | SeveralTargets) & AliasRules;

/** Several models with one alias. */
export interface SeveralTargets {
  /** At most 8, none twice. A caller who may not use a target is not sent there. */
  readonly targets: readonly AliasTarget[];
  /** How a target is chosen for each call. Default `weight`. */
  readonly choose?: TargetStrategy | undefined;
  /**
   * Fields of a call that keep it at one target, with the strategy `weight`. The first field that the call has is used.
   * Default: none. The steps of a generation, and a conversation that carries the state of a provider, keep their
   * target in any case.
   */
  readonly stickyBy?: readonly StickyField[] | undefined;
  /** Ejects targets that perform worse than the others. Default: none is ejected. */
  readonly outlierEjection?: OutlierEjection | undefined;
}

interface AliasRules {
  /**
   * Like `targets` of `createFallback`. Default: the other targets of the alias in their order, without any of weight
   * 0.
   */
  readonly fallbacks?: readonly FallbackTarget[] | undefined;
  /** Errors after which a call goes to the fallbacks, like `on` of `createFallback`. */
  readonly fallbackOn?: readonly FallbackKind[] | undefined;
  /** Hedges calls without output, to the next fallback. Default: none. */
  readonly hedge?: Omit<HedgeOptions, "excludedProviders" | "observer"> | undefined;
}

/** Options of `createAliasRouting`. */
export interface AliasRoutingOptions {
  /** The prices for the strategy `cost`. Default: the shipped catalog. */
  readonly catalog?: Prices | undefined;
  /** Providers whose calls have side effects, as for `createHedge`. */
  readonly excludedProviders?: readonly string[] | undefined;
  readonly observer?: MiddlewareObserver | undefined;
}

/**
 * Routes the calls whose requests name their model by an alias of the Client (`ClientOptions.modelAliases`): chooses
 * among several targets, once for each call, and sends a failed call to its fallbacks. Put it outermost.
 * @param aliases The aliases of the Client. Calls of an alias with one model, without fallbacks and hedge, pass
 *   unchanged.
 * @throws ConfigurationError if the targets or the fallbacks of an alias are too many or not valid.
 */
export function createAliasRouting(
  aliases: Readonly<Record<string, RoutedAlias>>,
  options: AliasRoutingOptions = {},
): Required<MiddlewareMethods> {
  const routes = new Map<string, MiddlewareMethods>();
  for (const [name, alias] of Object.entries(aliases)) {
    const route = createRoute(name, alias, options);
    if (route !== undefined) routes.set(name, route);
  }
  return chooseMiddleware((_request, { modelAlias = "" }) => routes.get(modelAlias));
}

function createRoute(
  name: string,
  alias: RoutedAlias,
  options: AliasRoutingOptions,
): MiddlewareMethods | undefined {
  const { fallbacks, fallbackOn: on, hedge } = alias;
  const { catalog, excludedProviders, observer } = options;
  const chain = fallbacks && createFallback({ targets: fallbacks, on, observer });
  const hedges = hedge === undefined ? [] : [createHedge({ ...hedge, excludedProviders, observer })];
  const plain = [...(chain === undefined ? [] : [chain]), ...hedges];
  if (!("targets" in alias)) return plain.length === 0 ? undefined : combineMiddleware(plain);
  const { targets, choose, stickyBy, outlierEjection } = alias;
  const ejection = outlierEjection && createEjectionRule(outlierEjection);
  const choice = new TargetChoice(name, { targets, choose, stickyBy, ejection, catalog, observer });
  if (targets.length === 1) return plain.length === 0 ? undefined : combineMiddleware(plain);
  const listNext = choice.listNext.bind(choice);
  const route = combineMiddleware([
    chain ?? createChain({ listNext, on, observer }),
    ...hedges,
    measureTargets(choice),
  ]);
  return {
    complete(request, next, callOptions) {
      if (isChained(callOptions)) return next(request);
      const chosen = choice.choose(request, "complete", callOptions);
      return route.complete?.(chosen, next, callOptions) ?? next(chosen);
    },
    stream(request, next, callOptions) {
      if (isChained(callOptions)) return next(request);
      const chosen = choice.choose(request, "stream", callOptions);
      return route.stream?.(chosen, next, callOptions) ?? next(chosen);
    },
  };
}

/** Measures each call to a target, for the choice of later calls. */
function measureTargets(choice: TargetChoice): Required<MiddlewareMethods> {
  return watchCalls((request, options, kind) => {
    // Embedding and counting calls have other latencies.
    if (kind === "complete" && options.operation !== undefined) return undefined;
    const call = choice.begin(request, kind, options);
    if (call === undefined) return undefined;
    const end = ({ response, error }: CallEnd) => {
      if (response !== undefined || error !== undefined) call.end(error);
      else call.leave();
    };
    return { output: () => call.output(), end };
  });
}
