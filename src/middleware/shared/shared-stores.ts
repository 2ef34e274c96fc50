import type { Log } from "../../core/log.ts";
import type { BreakerStore, CircuitListener } from "../breaker.ts";
import type { BudgetOptions } from "../budget.ts";
import type { BudgetStore } from "../budget-window.ts";
import type { CacheOptions, CacheStore } from "../cache.ts";
import { type CircuitBreakerOptions, toBreakerRule } from "../circuit-breaker.ts";
import type { MiddlewareObserver, SharedServer } from "../observer.ts";
import {
  createLocalRateStore,
  getAmountsPerMinute,
  getQueueLimits,
  type RateLimitOptions,
} from "../rate-limit.ts";
import { TokenBucket } from "../token-bucket.ts";
import { type RateStore, WaitQueue } from "../wait-queue.ts";
import type { PostgresBudgets, PostgresSettings } from "./postgres-budget.ts";
import type { ConnectionObserver, WhenAway } from "./reconnecting-connection.ts";
import { SharedBreakerStore } from "./shared-breaker.ts";
import { SharedBudgetStore } from "./shared-budget.ts";
import { SharedCacheStore } from "./shared-cache.ts";
import { SharedRateStore } from "./shared-rate.ts";
import type { Valkey, ValkeySettings } from "./valkey.ts";
import { ValkeyBudgetCounter } from "./valkey-budget.ts";

/** The servers of shared counts. At least one. */
export interface SharedSettings {
  readonly valkey: ValkeySettings | undefined;
  readonly postgres: PostgresSettings | undefined;
  /** The choice of rules that make none. */
  readonly whenAway: WhenAway;
}

/** How often a caller may call. */
export interface CallerRate {
  readonly requestsPerMinute: number;
  /** Requests that may come at once. */
  readonly burst: number;
}

/** How a rule is shared. */
export interface SharedRule {
  /**
   * Whether sidecars count together. Default false. `postgres` for a budget that is kept there although there is a
   * Valkey as well.
   */
  readonly shared?: boolean | "postgres" | undefined;
  /** The fate of a call if the shared counts cannot be reached. Default: what the settings say for all rules. */
  readonly whenAway?: WhenAway | undefined;
}

const CONSEQUENCES: Readonly<Record<WhenAway, string>> = {
  local: "each sidecar counts separately",
  refuse: "calls under shared rules are refused",
  allow: "calls under shared rules are not counted",
};

/** Stores of rules that several sidecars share. A rule has the same key in each. */
export class SharedStores {
  readonly #settings: SharedSettings;
  readonly #valkey: Valkey | undefined;
  readonly #postgres: PostgresBudgets | undefined;

  private constructor(settings: SharedSettings, valkey?: Valkey, postgres?: PostgresBudgets) {
    this.#settings = settings;
    this.#valkey = valkey;
    this.#postgres = postgres;
  }

  /**
   * Connects to the servers, whose clients are loaded now. Also resolves if one cannot be reached: then the choice of
   * each rule applies.
   */
  static async open(
    settings: SharedSettings,
    log: Log,
    observer: MiddlewareObserver | undefined,
  ): Promise<SharedStores> {
    const { valkey, postgres, whenAway } = settings;
    const follow = (server: SharedServer) => createObserver(server, whenAway, log, observer);
    const opened = new SharedStores(
      settings,
      valkey && new (await import("./valkey.ts")).Valkey(valkey, follow("valkey")),
      postgres && new (await import("./postgres-budget.ts")).PostgresBudgets(postgres, follow("postgres")),
    );
    await Promise.all(opened.#connections.map((connection) => connection.ready()));
    return opened;
  }

  /** Describes the servers that cannot be used now. */
  get problems(): string[] {
    return this.#connections.flatMap(({ server, problem }) => {
      const { whenAway } = this.#settings;
      return problem === undefined
        ? []
        : [`shared counts: ${server}: ${problem}, so ${CONSEQUENCES[whenAway]}`];
    });
  }

  /** Returns the store of a budget; undefined if it is not shared. */
  budget(rule: BudgetOptions & SharedRule, key: string): BudgetStore | undefined {
    if (!isShared(rule)) return undefined;
    const usesPostgres = rule.shared === "postgres" || this.#valkey === undefined;
    const counter = usesPostgres
      ? this.#postgres?.createCounter(key, rule.window)
      : this.#valkey && new ValkeyBudgetCounter(this.#valkey, key, rule.window);
    return counter && new SharedBudgetStore(counter, rule.window, this.#getWhenAway(rule));
  }

  /** Returns the store of a rate limit; undefined if it is not shared. */
  rateLimit(rule: RateLimitOptions & SharedRule, key: string): RateStore | undefined {
    if (!isShared(rule) || this.#valkey === undefined) return undefined;
    const buckets = getAmountsPerMinute(rule).map((perMinute) => ({ capacity: perMinute, perMinute }));
    const rate = { buckets, limits: getQueueLimits(rule), local: createLocalRateStore(rule) };
    return new SharedRateStore(this.#valkey, key, rate, this.#getWhenAway(rule));
  }

  /** Returns the store of the rate of a caller, whose calls do not wait; undefined if it is not shared. */
  callerRate(rule: CallerRate & SharedRule, caller: string): RateStore | undefined {
    if (!isShared(rule) || this.#valkey === undefined) return undefined;
    const { requestsPerMinute: perMinute, burst: capacity } = rule;
    const limits = { maxQueue: 0, maxWaitMs: 0 };
    const now = () => performance.now();
    const local = new WaitQueue([new TokenBucket(perMinute, now, capacity)], limits, now);
    const rate = { buckets: [{ capacity, perMinute }], limits, local };
    return new SharedRateStore(this.#valkey, `caller:${caller}`, rate, this.#getWhenAway(rule));
  }

  /** Returns the store of circuit breakers; undefined if they are not shared. */
  breakers(rule: CircuitBreakerOptions & SharedRule, onChange: CircuitListener): BreakerStore | undefined {
    if (!isShared(rule) || this.#valkey === undefined) return undefined;
    return new SharedBreakerStore(this.#valkey, toBreakerRule(rule), this.#getWhenAway(rule), onChange);
  }

  /** Returns the store of a cache; undefined if it is not shared. */
  cache(rule: CacheOptions & SharedRule): CacheStore | undefined {
    if (!isShared(rule) || this.#valkey === undefined) return undefined;
    return new SharedCacheStore(this.#valkey, rule, this.#getWhenAway(rule));
  }

  /** Disconnects, after the commands that are in progress. */
  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  get #connections() {
    return [this.#valkey, this.#postgres].flatMap((server) => server?.connection ?? []);
  }

  #getWhenAway({ whenAway }: SharedRule): WhenAway {
    return whenAway ?? this.#settings.whenAway;
  }
}

function isShared({ shared }: SharedRule): boolean {
  return shared !== undefined && shared !== false;
}

function createObserver(
  server: SharedServer,
  whenAway: WhenAway,
  log: Log,
  observer: MiddlewareObserver | undefined,
): ConnectionObserver {
  return {
    changed(problem) {
      observer?.sharedServer?.(server, problem === undefined);
      if (problem === undefined) log.info({ server }, "sharing counts with other sidecars");
      else {
        const fields = { server, problem, when_away: whenAway };
        log.warn(fields, `cannot use the server of shared counts: ${CONSEQUENCES[whenAway]}`);
      }
    },
    failed: (reason) => observer?.sharedFailure?.(server, reason),
  };
}
