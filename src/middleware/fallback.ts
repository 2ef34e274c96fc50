import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallOptions, CallTarget } from "../core/adapter.ts";
import { anyCaller } from "../core/caller.ts";
import { ConfigurationError, isProviderTimeout, type SDKError } from "../core/errors.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { toTargetKey } from "./breaker.ts";
import { resolveTarget } from "./choose-middleware.ts";
import { isDenial } from "./model-access.ts";
import type { MiddlewareObserver } from "./observer.ts";
import { repeatCalls, withRepeatLimit } from "./repeat-calls.ts";

/**
 * The next destination of a call. At least one field. Without a model, the request's model is used. A model without a
 * provider is resolved by the rule for names of models, with the request's provider as the default.
 */
export interface FallbackTarget {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
}

/** A kind of error after which another provider or model may be tried, by its name in the contract. */
export type FallbackKind = Exclude<keyof typeof ErrorKind, "UNSPECIFIED" | "ABORT" | "INTERNAL">;

/** All kinds after which another provider or model may be tried. */
export const fallbackKinds: readonly FallbackKind[] = Object.keys(ErrorKind).filter(isFallbackKind);

function isFallbackKind(name: string): name is FallbackKind {
  return name in ErrorKind && !["UNSPECIFIED", "ABORT", "INTERNAL"].includes(name);
}

/** Options of `createFallback`. */
export interface FallbackOptions {
  /** The targets in their order; at most 8. */
  readonly targets: readonly FallbackTarget[];
  /**
   * Errors after which the next target is tried. Default: kinds that blame the provider and not the request. Add
   * `CONTEXT_LENGTH` if a target has a larger context window, and `REQUEST_TIMEOUT` if requests set time limits.
   */
  readonly on?: readonly FallbackKind[] | undefined;
  readonly observer?: MiddlewareObserver | undefined;
}

/** The default of `FallbackOptions.on`. */
export const DEFAULT_FALLBACK_KINDS: readonly FallbackKind[] = [
  "PROVIDER",
  "AUTHENTICATION",
  "ACCESS_DENIED",
  "NOT_FOUND",
  "RATE_LIMIT",
  "SERVER",
  "QUOTA_EXCEEDED",
  "NETWORK",
  "STREAM",
];

/** Maximum number of targets in a chain: a caller waits for all, one after the other. */
export const MAX_FALLBACK_TARGETS = 8;

/**
 * The remaining targets of the chain of a call, by the options of its calls. Nested chains would multiply the calls.
 */
const chained = new WeakMap<CallOptions, Request[]>();

/** Reports whether a chain makes the call with these options. */
export function isChained(options: CallOptions): boolean {
  return chained.has(options);
}

/** Adds a call with other options to the same chain. */
export function inheritChain(from: CallOptions, to: CallOptions): void {
  const waiting = chained.get(from);
  if (waiting !== undefined) chained.set(to, waiting);
}

/** Removes and returns the next target of the chain that makes the call with these options. */
export function takeNextTarget(
  options: CallOptions,
  isAllowed: (target: CallTarget) => boolean,
): Request | undefined {
  const waiting = chained.get(options) ?? [];
  const index = waiting.findIndex(isAllowed);
  return index < 0 ? undefined : waiting.splice(index, 1)[0];
}

/** Options of `createChain`. */
export interface ChainOptions extends Pick<FallbackOptions, "on" | "observer"> {
  /** Returns the requests that may follow the first one if it fails, in their order. */
  listNext(first: Request, options: CallOptions): readonly Request[];
}

/**
 * Sends a failed call to the next target, if the error allows it and no output has begun. The attempts that failed are
 * in `Response.attempts`; if all fail, the last error is thrown, with the earlier ones as its causes. Within a chain no
 * other chain applies. Targets that the caller may not use are left out, and a call that the caller may not make fails
 * at once.
 * @throws ConfigurationError if there is no target or there are too many, or one has neither provider nor model.
 */
export function createFallback(options: FallbackOptions): Required<MiddlewareMethods> {
  const { targets, on, observer } = options;
  checkTargets(targets);
  return createChain({
    on,
    observer,
    listNext: (first, { resolveModel }) => requestsFor(first, targets, resolveModel),
  });
}

/** Like `createFallback`, with targets that are determined for each call. */
export function createChain({
  listNext,
  on = DEFAULT_FALLBACK_KINDS,
  observer,
}: ChainOptions): Required<MiddlewareMethods> {
  const kinds = new Set<ErrorKind>(on.map((name) => ErrorKind[name]));
  const chain = repeatCalls((first, callOptions) => {
    const { caller = anyCaller } = callOptions;
    const waiting = listNext(first, callOptions).filter(({ provider, model }) =>
      caller.allowsModel(provider, model),
    );
    chained.set(callOptions, waiting);
    let current = first;
    return (error) => {
      if (!isCovered(error, kinds) || error.outputStarted || isTooLarge(error) || isDenial(error))
        return undefined;
      const request = waiting.shift();
      if (request === undefined) return undefined;
      observer?.fallback?.(current, request, error);
      current = request;
      return { request, delayMs: 0 };
    };
  });
  return {
    complete(request, next, callOptions) {
      // Vectors and token counts of another model are no replacement.
      if (chained.has(callOptions) || callOptions.operation !== undefined) return next(request);
      const marked = mark(callOptions);
      return chain.complete(request, (changed) => next(changed, marked), marked);
    },
    stream(request, next, callOptions) {
      if (chained.has(callOptions)) return next(request);
      const marked = mark(callOptions);
      return chain.stream(request, (changed) => next(changed, marked), marked);
    },
  };
}

/** A provider's timeout counts as a failure of the provider, like an overload. */
function isCovered(error: SDKError, kinds: ReadonlySet<ErrorKind>): boolean {
  return kinds.has(error.kind) || (isProviderTimeout(error) && kinds.has(ErrorKind.SERVER));
}

/** Reports whether an answer exceeded a limit of this process. Another model would exceed it too. */
function isTooLarge({ kind, retryable }: SDKError): boolean {
  return kind === ErrorKind.STREAM && !retryable;
}

function mark(options: CallOptions): CallOptions {
  const marked = { ...withRepeatLimit(options) };
  chained.set(marked, []);
  return marked;
}

/** Returns the requests to the targets, none twice, and none to the first destination. */
function requestsFor(
  first: Request,
  targets: readonly FallbackTarget[],
  resolve: CallOptions["resolveModel"],
): Request[] {
  const seen = new Set([toTargetKey(first)]);
  const requests: Request[] = [];
  for (const target of targets) {
    const request = { ...first, ...resolveTarget(target, first, resolve) };
    if (seen.has(toTargetKey(request))) continue;
    seen.add(toTargetKey(request));
    requests.push(request);
  }
  return requests;
}

function checkTargets(targets: readonly FallbackTarget[]): void {
  if (targets.length === 0 || targets.length > MAX_FALLBACK_TARGETS)
    throw new ConfigurationError(
      `a fallback has ${targets.length} targets; expected 1 to ${MAX_FALLBACK_TARGETS}`,
    );
  const empty = targets.findIndex(({ provider, model }) => !provider && !model);
  if (empty >= 0) throw new ConfigurationError(`targets[${empty}] names neither a provider nor a model`);
}
