/** Hedged requests: sends a call again if it has no output after some time. */
import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallOptions, CallTarget } from "../core/adapter.ts";
import { lazyBatches } from "../core/batches.ts";
import { ConfigurationError } from "../core/errors.ts";
import { EventStream } from "../core/event-stream.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { asObject, tryReadJson } from "../kit/json/json.ts";
import { withAttempts } from "./attempts.ts";
import { BoundedMap } from "./bounded-map.ts";
import { checkOption } from "./check-option.ts";
import { takeNextTarget } from "./fallback.ts";
import { HedgedCall } from "./hedged-call.ts";
import { LatencyWindow } from "./latency-window.ts";
import type { MiddlewareObserver } from "./observer.ts";
import { MAX_HOLD_MS, openStream } from "./open-stream.ts";
import { streamWithAttempts, withRepeatLimit } from "./repeat-calls.ts";
import { RetryBudget } from "./retry-budget.ts";
import type { MeasuredKind } from "./target-state.ts";
import { watchStream } from "./watch-stream.ts";

/** Options of `createHedge`. */
export interface HedgeOptions {
  /** Seconds without output after which a call is sent again, at most 600. Either this or `percentile` is required. */
  readonly after?: number | undefined;
  /**
   * The same as a percentile of the latest 256 times of the model: from 50 to 99. Streams are measured to their first
   * output, other calls to their answer. No call is sent again until 20 were measured.
   */
  readonly percentile?: number | undefined;
  /** Further requests for one call, each after the same time: from 1 to 3. Default 1. */
  readonly max?: number | undefined;
  /** Further requests for each call, over time: above 0 and at most 1. Default 0.1. */
  readonly budget?: number | undefined;
  /** Providers whose calls have side effects: they get no further requests. Default: none. */
  readonly excludedProviders?: readonly string[] | undefined;
  readonly observer?: MiddlewareObserver | undefined;
}

/** Longest time before a further request, in seconds. The beginning of a stream is held back for that time. */
export const MAX_HEDGE_AFTER = 600;

/** Maximum number of further requests for one call. */
export const MAX_HEDGES = 3;

/** Minimum number of measured calls for a percentile. */
const MIN_MEASURED = 20;

/** Maximum number of models whose times are kept. */
const MAX_WINDOWS = 1000;

/**
 * Sends a call again if it has no output after a time: to the next target of its chain of fallbacks, or else to the
 * same one. The first request that produces output answers the call; the others are cancelled at once, and are listed
 * in `Response.attempts`. The first events of a stream are held back until output begins, for at most five seconds
 * after the last request.
 *
 * Not sent again: calls whose provider may do more than answer, that is with hosted tools, MCP servers of the provider,
 * or an answer that the provider keeps; embeddings and counts of tokens.
 * @throws ConfigurationError if an option is out of range.
 */
export function createHedge(options: HedgeOptions): Required<MiddlewareMethods> {
  const hedges = new Hedges(options);
  return {
    async complete(request, next, callOptions) {
      const call = hedges.begin(request, "complete", callOptions);
      if (call === undefined) return next(request);
      const { result, failed } = await call.run(next, () => {});
      call.release();
      return withAttempts(result, failed);
    },
    stream(request, next, callOptions) {
      const open = async () => {
        const call = hedges.begin(request, "stream", callOptions);
        if (call === undefined) return next(request).batches();
        const { result, failed } = await call.run(
          (sent, changed) => openStream(next(sent, changed), call.remainingMs + MAX_HOLD_MS),
          (loser) => loser[Symbol.asyncIterator]().return?.(),
        );
        const answer = failed.length === 0 ? result : streamWithAttempts(result, failed);
        return watchStream(answer, { end: () => call.release() });
      };
      return new EventStream(lazyBatches(open));
    },
  };
}

/** The rule of a hedge, and its measurements. */
class Hedges {
  readonly #options: HedgeOptions;
  readonly #budget: RetryBudget;
  readonly #windows = new BoundedMap<LatencyWindow>(MAX_WINDOWS);

  constructor(options: HedgeOptions) {
    checkOptions(options);
    this.#options = options;
    this.#budget = new RetryBudget({ ratio: options.budget ?? 0.1, minPerSecond: 0 });
  }

  /** Returns a call that may be sent again; undefined if it may not. */
  begin(request: Request, kind: MeasuredKind, given: CallOptions): HedgedCall | undefined {
    if (given.operation !== undefined || given.isHedged === true) return undefined;
    if (this.#isExcluded(request) || hasSideEffects(request, given)) return undefined;
    const { percentile, max = 1, observer } = this.#options;
    const options = withRepeatLimit(given);
    const isAllowed = (target: CallTarget) => !this.#isExcluded(target);
    const rule = {
      max,
      afterMs: this.#getAfterMs(request, kind),
      takeNext: () => {
        if (options.repeats.isReached || !this.#budget.withdraw()) return undefined;
        options.repeats.add();
        return takeNextTarget(options, isAllowed) ?? request;
      },
      onTime: (target: CallTarget, milliseconds: number) => {
        if (percentile !== undefined) this.#getWindow(target, kind).add(milliseconds);
      },
      observer,
    };
    this.#budget.deposit();
    return new HedgedCall(request, options, rule);
  }

  #isExcluded({ provider }: CallTarget): boolean {
    return this.#options.excludedProviders?.includes(provider) === true;
  }

  /** Infinity until enough calls were measured. */
  #getAfterMs(target: CallTarget, kind: MeasuredKind): number {
    const { after, percentile } = this.#options;
    if (after !== undefined) return after * 1000;
    const time = this.#getWindow(target, kind).getPercentile(percentile ?? 0, MIN_MEASURED);
    return time === undefined ? Infinity : Math.min(time, MAX_HEDGE_AFTER * 1000);
  }

  #getWindow({ provider, model }: CallTarget, kind: MeasuredKind): LatencyWindow {
    return this.#windows.getOrCreate(JSON.stringify([provider, model, kind]), () => new LatencyWindow());
  }
}

/** Provider settings that cause side effects only if they are true. */
const SWITCHES = ["store", "background"];

/** Provider settings that execute something, or continue a conversation that the provider stores. */
const ACTIONS = ["tools", "mcp_servers", "container", "conversation", "web_search_options"];

/** Reports whether a call may have side effects, which a second request would repeat. */
function hasSideEffects({ tools, providerOptionsJson }: Request, { source }: CallOptions): boolean {
  if (tools.some(({ tool }) => tool.case === "hosted")) return true;
  const settings = Object.values(providerOptionsJson).map((text) => asObject(tryReadJson(text)) ?? {});
  const members = source?.getMembers();
  const isSet = (name: string, isSetting: (value: unknown) => boolean) =>
    settings.some((object) => isSetting(object[name])) ||
    isSetting(tryReadJson(members?.get(name) ?? "null"));
  return (
    SWITCHES.some((name) => isSet(name, (value) => value === true)) ||
    // The request also has the tools of the caller's body, unless that could not be read.
    ACTIONS.some((name) => isSet(name, (value) => isGiven(value) && !(name === "tools" && tools.length > 0)))
  );
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null;
}

function checkOptions({ after, percentile, max = 1, budget = 0.1 }: HedgeOptions): void {
  if ((after === undefined) === (percentile === undefined))
    throw new ConfigurationError("a hedge needs either after or percentile");
  const check = (name: string, value: number, min: number, max: number) =>
    checkOption(`the hedge's ${name}`, value, value >= min && value <= max, `from ${min} to ${max}`);
  check("after", after ?? 1, 0.001, MAX_HEDGE_AFTER);
  check("percentile", percentile ?? 50, 50, 99);
  check("max", Number.isInteger(max) ? max : Number.NaN, 1, MAX_HEDGES);
  check("budget", budget, 0.001, 1);
}
