import type { CallTarget } from "../core/adapter.ts";
import { BoundedMap } from "./bounded-map.ts";

/** State of a circuit breaker: calls pass, none pass, or one passes as a probe. */
export type CircuitState = "closed" | "open" | "half_open";

/** When a breaker opens, and for how long. */
export interface BreakerRule {
  readonly failureRatio: number;
  readonly minCalls: number;
  readonly windowMs: number;
  readonly openMs: number;
}

/** The outcome of a call, for a breaker. */
export type CallResult = "success" | "failure" | "unknown";

/** A call that a breaker admitted. */
export interface AdmittedCall {
  /** Called when the provider begins to answer. */
  begin(): void;
  /** Called once when the call has ended. */
  end(result: CallResult): void;
}

/** A call that a breaker rejects: for some time, or because the shared breaker is unavailable. */
export type BlockedCall =
  | { readonly waitMs: number }
  /** The server that cannot be reached, and its problem. */
  | { readonly away: string };

/** Keeps the breakers of all providers and models. */
export interface BreakerStore {
  /** Admits or blocks a call. */
  enter(target: CallTarget): AdmittedCall | BlockedCall | Promise<AdmittedCall | BlockedCall>;
}

/** Called with each new state of a breaker. Must not throw. */
export type CircuitListener = (target: CallTarget, state: CircuitState) => void;

/**
 * Maximum number of breakers that are kept. A breaker is created by a failure, so invented model names alone do not
 * fill the map.
 */
export const MAX_BREAKERS = 1000;

/** Keeps the breakers in memory. */
export class LocalBreakerStore implements BreakerStore {
  readonly #rule: BreakerRule;
  readonly #onChange: CircuitListener;
  readonly #breakers = new BoundedMap<Breaker>(MAX_BREAKERS);

  constructor(rule: BreakerRule, onChange: CircuitListener) {
    this.#rule = rule;
    this.#onChange = onChange;
  }

  enter(target: CallTarget): AdmittedCall | BlockedCall {
    const key = toTargetKey(target);
    const breaker = this.#breakers.get(key);
    if (breaker === undefined) return this.#firstCall(key, target);
    const { waitMs } = breaker;
    return waitMs === 0 ? breaker.admit() : { waitMs };
  }

  /** Starts a call without a breaker, which is created if the call fails. */
  #firstCall(key: string, target: CallTarget): AdmittedCall {
    return {
      begin() {},
      end: (result) => {
        if (result !== "failure") return;
        const onChange = (state: CircuitState) => this.#onChange(target, state);
        const create = () => new Breaker(this.#rule, onChange, () => performance.now());
        this.#breakers.getOrCreate(key, create).count(result);
      },
    };
  }
}

/** Returns a key for the breaker of a provider and a model. */
export function toTargetKey({ provider, model }: CallTarget): string {
  return JSON.stringify([provider, model]);
}

/** The circuit breaker of one provider and model. */
export class Breaker {
  readonly #rule: BreakerRule;
  readonly #now: () => number;
  readonly #onChange: (state: CircuitState) => void;
  readonly #window: FailureWindow;
  #state: CircuitState = "closed";
  /**
   * When the breaker opened, or admitted the last probe. Other calls are blocked for `openMs`, since a probe may never
   * end.
   */
  #blockedSince = Number.NEGATIVE_INFINITY;

  /**
   * @param onChange Called with each new state.
   * @param now Milliseconds of a monotonic clock.
   */
  constructor(rule: BreakerRule, onChange: (state: CircuitState) => void, now: () => number) {
    this.#rule = rule;
    this.#onChange = onChange;
    this.#now = now;
    this.#window = new FailureWindow(rule.windowMs);
  }

  /** Milliseconds until a call may pass; 0 if one may pass now. */
  get waitMs(): number {
    if (this.#state === "closed") return 0;
    return Math.max(0, this.#blockedSince + this.#rule.openMs - this.#now());
  }

  /** Admits a call. Call it only if `waitMs` is 0. */
  admit(): AdmittedCall {
    if (this.#state === "closed") return { begin() {}, end: (result) => this.count(result) };
    this.#blockedSince = this.#now();
    if (this.#state === "open") this.#change("half_open");
    return this.#probe();
  }

  /** A probe is decided by the first events of a stream: its end may be minutes away. */
  #probe(): AdmittedCall {
    let isPending = true;
    const settle = (result: CallResult) => {
      if (!isPending) return;
      isPending = false;
      if (this.#state !== "half_open") return;
      if (result === "unknown") this.#blockedSince = Number.NEGATIVE_INFINITY;
      else if (result === "success") this.#change("closed");
      else this.#open();
    };
    return {
      begin: () => settle("success"),
      end: (result) => (isPending ? settle(result) : this.count(result)),
    };
  }

  count(result: CallResult): void {
    if (result === "unknown" || this.#state !== "closed") return;
    const now = this.#now();
    this.#window.add(result === "failure", now);
    if (result === "success") return;
    const { calls, failures } = this.#window.countsAt(now);
    if (calls >= this.#rule.minCalls && failures >= calls * this.#rule.failureRatio) this.#open();
  }

  #open(): void {
    this.#blockedSince = this.#now();
    this.#window.clear();
    this.#change("open");
  }

  #change(state: CircuitState): void {
    this.#state = state;
    this.#onChange(state);
  }
}

/** Counts of calls and failures over the last seconds, in slots that are dropped one by one. */
class FailureWindow {
  readonly #slotMs: number;
  readonly #slots: Slot[] = [];

  /** @param windowMs Length of the window in milliseconds. */
  constructor(windowMs: number) {
    this.#slotMs = windowMs / SLOTS;
  }

  /** Counts a call. @param now Milliseconds of a monotonic clock. */
  add(isFailure: boolean, now: number): void {
    this.#drop(now);
    const begin = Math.floor(now / this.#slotMs) * this.#slotMs;
    let slot = this.#slots.at(-1);
    if (slot === undefined || slot.begin < begin) {
      slot = { begin, calls: 0, failures: 0 };
      this.#slots.push(slot);
    }
    slot.calls += 1;
    if (isFailure) slot.failures += 1;
  }

  /** Returns the counts of the window that ends now. */
  countsAt(now: number): { readonly calls: number; readonly failures: number } {
    this.#drop(now);
    let [calls, failures] = [0, 0];
    for (const slot of this.#slots) {
      calls += slot.calls;
      failures += slot.failures;
    }
    return { calls, failures };
  }

  /** Forgets all calls. */
  clear(): void {
    this.#slots.length = 0;
  }

  #drop(now: number): void {
    const oldest = now - SLOTS * this.#slotMs;
    while (this.#slots[0] !== undefined && this.#slots[0].begin <= oldest) this.#slots.shift();
  }
}

interface Slot {
  readonly begin: number;
  calls: number;
  failures: number;
}

const SLOTS = 10;
