/** Chooses one of the targets of an alias for each call. */
import { createHash } from "node:crypto";
import { defaultCatalog } from "../catalog/catalog.ts";
import { estimateUsage } from "../client/estimate-usage.ts";
import type { NamedModel } from "../client/model-names.ts";
import type { CallOptions, CallTarget } from "../core/adapter.ts";
import { anyCaller } from "../core/caller.ts";
import { ConfigurationError, type SDKError } from "../core/errors.ts";
import type { RepeatLimit } from "../core/repeat-limit.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { CallResult } from "./breaker.ts";
import { toCallResult } from "./circuit-breaker.ts";
import { isLost } from "./hedged-call.ts";
import type { EjectionReason, MiddlewareObserver } from "./observer.ts";
import type { EjectionRule } from "./outlier-ejection.ts";
import { getPrice, type Prices } from "./price.ts";
import { isRefusal } from "./refusals.ts";
import { readStickyKey, type StickyField } from "./sticky-key.ts";
import { type MeasuredKind, TargetState } from "./target-state.ts";

/** One of several targets of an alias. */
export interface AliasTarget extends NamedModel {
  /**
   * Share of the calls, relative to the other targets: a whole number from 0 to 1000. Default 1. A target of weight 0
   * gets no new conversations, only those that carry its state.
   */
  readonly weight?: number | undefined;
}

/** How a target is chosen: by its weight, its time to the first output, or its price. */
export type TargetStrategy = "weight" | "latency" | "cost";

/** Maximum number of targets of an alias. */
export const MAX_TARGETS = 8;

/** Maximum weight of a target. */
export const MAX_WEIGHT = 1000;

/** With the strategy `latency`, one of this many calls goes to the target that was measured longest ago. */
const CALLS_PER_EXPLORATION = 20;

/** Settings of a choice. */
export interface TargetChoiceOptions {
  readonly targets: readonly AliasTarget[];
  /** Default `weight`. */
  readonly choose?: TargetStrategy | undefined;
  /** With the strategy `weight`: the fields that keep calls at one target. The first one that a call has counts. */
  readonly stickyBy?: readonly StickyField[] | undefined;
  /** Undefined: no target is ejected. */
  readonly ejection?: EjectionRule | undefined;
  readonly catalog?: Prices | undefined;
  readonly observer?: MiddlewareObserver | undefined;
}

interface Target {
  readonly weight: number;
  readonly state: TargetState;
  /** The credit of a smooth weighted round robin. */
  credit: number;
}

/** A target with its destination, for one call. */
interface Candidate extends CallTarget {
  readonly target: Target;
}

/** The targets of one alias. */
export class TargetChoice {
  readonly #alias: string;
  readonly #options: TargetChoiceOptions;
  readonly #targets: readonly Target[];
  readonly #now: () => number;
  /** The target of a generation, by the limit that its steps share. Undefined if the latest call failed. */
  readonly #generations = new WeakMap<RepeatLimit, Target | undefined>();
  #fastestCalls = 0;
  #intervalStart: number;

  /**
   * @param now Milliseconds of a monotonic clock.
   * @throws ConfigurationError if the targets are too many, twice the same, or have no valid weights.
   */
  constructor(alias: string, options: TargetChoiceOptions, now = () => performance.now()) {
    checkTargets(alias, options);
    this.#alias = alias;
    this.#options = options;
    this.#targets = options.targets.map(({ weight = 1 }) => ({
      weight,
      state: new TargetState(),
      credit: 0,
    }));
    this.#now = now;
    this.#intervalStart = now();
  }

  /** Returns the request to the chosen target. */
  choose(request: Request, kind: MeasuredKind, options: CallOptions): Request {
    const candidates = this.#listCandidates(options);
    const chosen =
      this.#findSticky(candidates, request, options) ?? this.#pick(candidates, request, kind, options);
    // A call that its caller may not make at any target is refused at the first one.
    if (chosen === undefined) return request;
    const { provider, model, target } = chosen;
    if (options.repeats !== undefined) this.#generations.set(options.repeats, target);
    this.#options.observer?.chosen?.(this.#alias, { provider, model });
    return { ...request, provider, model };
  }

  /** Returns requests to the other targets in their order, those that are left out for a while last. */
  listNext(first: Request, options: CallOptions): readonly Request[] {
    const now = this.#now();
    const isAvailable = ({ target }: Candidate) => Number(target.state.isAvailable(now));
    return this.#listCandidates(options)
      .filter((candidate) => candidate.target.weight > 0 && !isSame(candidate, first))
      .toSorted((left, right) => isAvailable(right) - isAvailable(left))
      .map(({ provider, model }) => ({ ...first, provider, model }));
  }

  /** Begins to measure a call. Returns undefined if it goes to none of the targets. */
  begin(request: Request, kind: MeasuredKind, options: CallOptions): TargetCall | undefined {
    const candidate = this.#listCandidates(options).find((each) => isSame(each, request));
    if (candidate === undefined) return undefined;
    const { target } = candidate;
    const { state } = target;
    const startedAt = this.#now();
    const elapsed = () => this.#now() - startedAt;
    let hasOutput = false;
    // A hedged request that has lost would have taken longer than until now.
    const measureLost = () => {
      if (!hasOutput && isLost(options)) state.measure(kind, elapsed(), this.#now());
    };
    state.pending += 1;
    return {
      output: () => {
        hasOutput = true;
        state.measure(kind, elapsed(), this.#now());
        this.#keepInGeneration(target, options);
      },
      end: (error) => {
        state.pending -= 1;
        const result = error === undefined ? "success" : toCallResult(error, request, options);
        if (error !== undefined && isAvoidable(error, result) && !hasOutput) {
          state.measureFailure(kind, elapsed(), this.#now());
          this.#keepInGeneration(undefined, options);
        }
        measureLost();
        if (error !== undefined && isOpenBreaker(error))
          state.block(this.#now() + (error.retryAfter ?? 0) * 1000);
        this.#count(candidate.target, result, options);
      },
      leave: () => {
        state.pending -= 1;
        measureLost();
      },
    };
  }

  /** @param target Undefined: the generation can continue at any target. */
  #keepInGeneration(target: Target | undefined, { repeats }: CallOptions): void {
    if (repeats !== undefined && this.#generations.has(repeats)) this.#generations.set(repeats, target);
  }

  #listCandidates({ aliasTargets = [], caller = anyCaller }: CallOptions): Candidate[] {
    return aliasTargets.flatMap(({ provider, model }, index) => {
      const target = this.#targets[index];
      return target !== undefined && caller.allowsModel(provider, model) ? [{ provider, model, target }] : [];
    });
  }

  /** Returns the target that a generation or a conversation has to keep, unless it is left out for a while. */
  #findSticky(
    candidates: readonly Candidate[],
    request: Request,
    options: CallOptions,
  ): Candidate | undefined {
    const { operation, repeats } = options;
    if (operation?.kind === "embed") return undefined;
    const target = repeats === undefined ? undefined : this.#generations.get(repeats);
    const ofGeneration = target && candidates.find((candidate) => candidate.target === target);
    const kept = ofGeneration ?? this.#findByConversation(candidates, request, options);
    return kept?.target.state.isAvailable(this.#now()) === true ? kept : undefined;
  }

  #findByConversation(
    candidates: readonly Candidate[],
    request: Request,
    options: CallOptions,
  ): Candidate | undefined {
    const { stickyBy = [] } = this.#options;
    const key = stickyBy.length === 0 ? undefined : readStickyKey(stickyBy, request, options);
    if (key === undefined) return findByState(candidates, request);
    return pickByKey(this.#withoutUnavailable(candidates), key);
  }

  #pick(
    candidates: readonly Candidate[],
    request: Request,
    kind: MeasuredKind,
    { operation }: CallOptions,
  ): Candidate | undefined {
    // Vectors of different models cannot be compared.
    const isUsable = ({ model }: Candidate) => operation?.kind !== "embed" || model === request.model;
    const pool = this.#withoutUnavailable(candidates.filter(isUsable));
    const { choose = "weight" } = this.#options;
    if (operation?.kind === "count_tokens" || pool.length <= 1) return pool[0];
    if (choose === "weight") return pickByWeight(pool);
    if (operation !== undefined) return pool[0];
    return choose === "cost" ? this.#pickCheapest(pool, request) : this.#pickFastest(pool, kind);
  }

  /** Leaves out targets of weight 0 and targets that are not available, unless all are. */
  #withoutUnavailable(candidates: readonly Candidate[]): readonly Candidate[] {
    const now = this.#now();
    const weighted = candidates.filter(({ target }) => target.weight > 0);
    const pool = weighted.length === 0 ? candidates : weighted;
    const available = pool.filter(({ target }) => target.state.isAvailable(now));
    return available.length === 0 ? pool : available;
  }

  /** Targets without a known price come last. */
  #pickCheapest(pool: readonly Candidate[], request: Request): Candidate | undefined {
    const { catalog = defaultCatalog } = this.#options;
    const estimate = estimateUsage(request);
    return minBy(pool, (candidate) => Number(getPrice(catalog, estimate, candidate) ?? Infinity));
  }

  /** Tries a target that was not measured yet with one call at a time. */
  #pickFastest(pool: readonly Candidate[], kind: MeasuredKind): Candidate | undefined {
    const measured = pool.filter(({ target }) => target.state.getAverage(kind) !== undefined);
    const others = pool.filter((candidate) => !measured.includes(candidate));
    const idlest = minBy(others, ({ target }) => target.state.pending);
    if (idlest !== undefined && (idlest.target.state.pending === 0 || measured.length === 0)) return idlest;
    this.#fastestCalls += 1;
    if (this.#fastestCalls % CALLS_PER_EXPLORATION === 0)
      return minBy(measured, ({ target }) => target.state.measuredAt);
    return minBy(measured, ({ target }) => target.state.getAverage(kind) ?? Infinity);
  }

  /** Counts a call that has ended, and ejects targets that are outliers. */
  #count(target: Target, result: CallResult, options: CallOptions): void {
    const { ejection: rule } = this.#options;
    const { state } = target;
    const now = this.#now();
    // Calls that began before an ejection say nothing about the time after it.
    const failures = state.isEjected(now) ? 0 : state.count(result);
    if (rule === undefined) return;
    if (failures >= rule.consecutiveFailures) this.#eject(target, "consecutive_failures", rule, options);
    if (now >= this.#intervalStart + rule.interval * 1000) this.#endInterval(rule, options);
  }

  #endInterval(rule: EjectionRule, options: CallOptions): void {
    const now = this.#now();
    this.#intervalStart = now;
    for (const target of this.#targets) {
      const others = this.#targets.filter((other) => other !== target).map(({ state }) => state);
      const reason = target.state.isEjected(now) ? undefined : target.state.findOutlier(rule, others);
      if (reason !== undefined) this.#eject(target, reason, rule, options);
    }
    for (const { state } of this.#targets) state.beginInterval(now);
  }

  #eject(
    target: Target,
    reason: EjectionReason,
    rule: EjectionRule,
    { aliasTargets = [] }: CallOptions,
  ): void {
    const now = this.#now();
    const ejected = this.#targets.filter(({ state }) => state.isEjected(now)).length;
    if (ejected + 1 > Math.floor(this.#targets.length * rule.maxEjected)) return;
    const seconds = target.state.eject(rule, now) / 1000;
    const destination = aliasTargets[this.#targets.indexOf(target)];
    if (destination !== undefined)
      this.#options.observer?.ejected?.(this.#alias, destination, reason, seconds);
  }
}

/** A call to a target, while it is measured. */
export interface TargetCall {
  /** The first output of a stream, or the whole answer, has arrived. */
  output(): void;
  /** The call has ended. @param error The error if it has failed. */
  end(error: SDKError | undefined): void;
  /** The caller has left. */
  leave(): void;
}

/** Reports whether a call that failed with this error would be better sent to another target. */
function isAvoidable(error: SDKError, result: CallResult): boolean {
  return (
    result === "failure" || error.kind === ErrorKind.RATE_LIMIT || error.kind === ErrorKind.QUOTA_EXCEEDED
  );
}

/** Reports whether a circuit breaker has refused a call. Limits refuse calls with other kinds of errors. */
function isOpenBreaker(error: SDKError): boolean {
  return isRefusal(error) && error.kind === ErrorKind.SERVER;
}

/** Returns the target whose model wrote the latest provider state of a conversation. */
function findByState(candidates: readonly Candidate[], { messages }: Request): Candidate | undefined {
  const parts = messages.flatMap(({ content }) => content);
  const state = parts.findLast(({ providerState }) => providerState !== undefined)?.providerState;
  if (state === undefined) return undefined;
  const ofProvider = candidates.filter(({ provider }) => provider === state.provider);
  // A provider may report a snapshot of the requested model.
  return ofProvider.find(({ model }) => state.model.startsWith(model)) ?? ofProvider[0];
}

/**
 * Smooth weighted round robin, as in nginx: the calls of each target are spread evenly, and its share is exact after as
 * many calls as the weights add up to.
 */
function pickByWeight(pool: readonly Candidate[]): Candidate | undefined {
  let total = 0;
  for (const { target } of pool) {
    const weight = toPositive(target.weight);
    target.credit += weight;
    total += weight;
  }
  const chosen = minBy(pool, ({ target }) => -target.credit);
  if (chosen !== undefined) chosen.target.credit -= total;
  return chosen;
}

/**
 * Weighted rendezvous hashing: a key keeps its target, except if that target is left out or its share shrinks.
 * https://www.ietf.org/archive/id/draft-ietf-bess-weighted-hrw-00.html
 */
function pickByKey(pool: readonly Candidate[], key: string): Candidate | undefined {
  return minBy(pool, ({ provider, model, target }) => {
    const bytes = createHash("sha256")
      .update(JSON.stringify([key, provider, model]))
      .digest();
    const uniform = (bytes.readUIntBE(0, 6) + 0.5) / 2 ** 48;
    return -Math.log(uniform) / toPositive(target.weight);
  });
}

/** Callers who may use no other target share the targets of weight 0 evenly. */
function toPositive(weight: number): number {
  return weight || 1;
}

function minBy<Item>(items: readonly Item[], getValue: (item: Item) => number): Item | undefined {
  let lowest: Item | undefined;
  let value = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const found = getValue(item);
    if (lowest !== undefined && found >= value) continue;
    lowest = item;
    value = found;
  }
  return lowest;
}

function isSame(left: CallTarget, right: CallTarget): boolean {
  return left.provider === right.provider && left.model === right.model;
}

function checkTargets(alias: string, { targets, choose = "weight", stickyBy }: TargetChoiceOptions): void {
  const problem = findProblem(targets) ?? findStrategyProblem(targets, choose, stickyBy);
  if (problem !== undefined) throw new ConfigurationError(`the alias ${alias}: ${problem}`);
}

function findProblem(targets: readonly AliasTarget[]): string | undefined {
  if (targets.length === 0 || targets.length > MAX_TARGETS)
    return `found ${targets.length} targets, expected 1 to ${MAX_TARGETS}`;
  const wrong = targets.findIndex(
    ({ weight = 1 }) => !Number.isInteger(weight) || weight < 0 || weight > MAX_WEIGHT,
  );
  if (wrong >= 0)
    return `targets[${wrong}].weight is ${targets[wrong]?.weight}, expected a whole number from 0 to ${MAX_WEIGHT}`;
  const duplicate = findDuplicateTarget(targets);
  if (duplicate !== undefined)
    return `targets[${duplicate}] repeats an earlier target, expected a different model`;
  return targets.every(({ weight }) => weight === 0) ? "all weights are 0, expected one above 0" : undefined;
}

/** Returns the index of the first target that an earlier one has named already; undefined if there is none. */
export function findDuplicateTarget(targets: readonly NamedModel[]): number | undefined {
  const names = targets.map(({ provider, model }) =>
    provider === undefined ? model : `${provider}/${model}`,
  );
  const index = names.findIndex((name, at) => names.indexOf(name) < at);
  return index < 0 ? undefined : index;
}

function findStrategyProblem(
  targets: readonly AliasTarget[],
  strategy: TargetStrategy,
  stickyBy: readonly StickyField[] = [],
): string | undefined {
  if (strategy === "weight") return undefined;
  if (stickyBy.length > 0) return `stickyBy has no effect with the strategy ${strategy}, expected weight`;
  const index = targets.findIndex(({ weight = 0 }) => weight > 0);
  if (index < 0) return undefined;
  return `targets[${index}].weight has no effect with the strategy ${strategy}, expected weight 0 or none`;
}
