import { createHash, randomUUID } from "node:crypto";
import type { CallTarget } from "../../core/adapter.ts";
import { BoundedMap } from "../bounded-map.ts";
import {
  type AdmittedCall,
  type BlockedCall,
  type BreakerRule,
  type BreakerStore,
  type CallResult,
  type CircuitListener,
  type CircuitState,
  LocalBreakerStore,
  MAX_BREAKERS,
  toTargetKey,
} from "../breaker.ts";
import { UnavailableError, type WhenAway } from "./reconnecting-connection.ts";
import { createScript, PRELUDE, readNumbers } from "./scripts.ts";
import type { Valkey } from "./valkey.ts";

/**
 * The rules of `Breaker`, for all sidecars. Keys: a hash with the state (0 closed, 1 open, 2 half open), since when
 * calls are blocked, the probe, and a ring of ten slots with when it began, its calls and failures. Arguments: the
 * action, the failure ratio, the minimum of calls, the milliseconds of the window and of the open state, and then
 *
 * - `enter`, the id of a probe: lets a call through. Returns 1 as fourth number if it is the probe.
 * - `count`, calls, failures: counts calls of the closed state. The key is created by a failure.
 * - `probe`, its id, and 1 for a success, 0 for a failure and -1 if neither is known.
 *
 * Returns the state, the milliseconds until a call may pass, and whether calls are counted.
 */
const BREAKER = createScript(`${PRELUDE}
local ratio, minCalls, windowMs, openMs = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local found = redis.call('HMGET', key, 'state', 'blocked', 'probe')
local isKnown = found[1] ~= false
local state, blocked = tonumber(found[1]) or 0, tonumber(found[2]) or 0
local granted = 0
local function set(next, since)
  state, blocked = next, since
  redis.call('HSET', key, 'state', next, 'blocked', string.format('%.3f', since))
  isKnown = true
end
local function open()
  redis.call('DEL', key)
  set(1, now)
end
if ARGV[1] == 'enter' and state ~= 0 and now >= blocked + openMs then
  set(2, now)
  redis.call('HSET', key, 'probe', ARGV[6])
  granted = 1
elseif ARGV[1] == 'count' and state == 0 and (isKnown or tonumber(ARGV[7]) > 0) then
  if not isKnown then set(0, 0) end
  local number = math.floor(now / (windowMs / 10))
  local slot = number % 10
  if tonumber(redis.call('HGET', key, 'begin' .. slot)) ~= number then
    redis.call('HSET', key, 'begin' .. slot, number, 'calls' .. slot, 0, 'failures' .. slot, 0)
  end
  redis.call('HINCRBY', key, 'calls' .. slot, ARGV[6])
  redis.call('HINCRBY', key, 'failures' .. slot, ARGV[7])
  local calls, failures = 0, 0
  for i = 0, 9 do
    local counts = redis.call('HMGET', key, 'begin' .. i, 'calls' .. i, 'failures' .. i)
    if (tonumber(counts[1]) or -10) > number - 10 then
      calls, failures = calls + (tonumber(counts[2]) or 0), failures + (tonumber(counts[3]) or 0)
    end
  end
  if tonumber(ARGV[7]) > 0 and calls >= minCalls and failures >= calls * ratio then open() end
elseif ARGV[1] == 'probe' and state == 2 and found[3] == ARGV[6] then
  if ARGV[7] == '1' then set(0, 0) elseif ARGV[7] == '0' then open() else set(2, now - openMs) end
end
if isKnown then redis.call('PEXPIRE', key, math.ceil(windowMs + 10 * openMs)) end
local wait = state == 0 and 0 or math.max(0, math.ceil(blocked + openMs - now))
return {state, wait, isKnown and 1 or 0, granted}
`);

const STATES: readonly CircuitState[] = ["closed", "open", "half_open"];

/** Milliseconds for which a sidecar trusts the state of a breaker that it saw last. */
const MAX_STALE_MS = 1000;

/** The state of a breaker as a sidecar saw it last. */
interface View {
  readonly state: CircuitState;
  /** When a call may pass, and when this was seen, in milliseconds of the process's clock. */
  readonly blockedUntil: number;
  readonly seenAt: number;
  readonly isCounted: boolean;
}

/**
 * Breakers that sidecars share. Each keeps its view of a breaker for a second, so that most calls wait for no round
 * trip; results are sent in the background, several calls at once.
 */
export class SharedBreakerStore implements BreakerStore {
  readonly #valkey: Valkey;
  readonly #rule: BreakerRule;
  readonly #whenAway: WhenAway;
  readonly #onChange: CircuitListener;
  readonly #local: LocalBreakerStore;
  readonly #breakers = new BoundedMap<SharedBreaker>(MAX_BREAKERS);

  constructor(valkey: Valkey, rule: BreakerRule, whenAway: WhenAway, onChange: CircuitListener) {
    this.#valkey = valkey;
    this.#rule = rule;
    this.#whenAway = whenAway;
    this.#onChange = onChange;
    this.#local = new LocalBreakerStore(rule, onChange);
  }

  enter(target: CallTarget): AdmittedCall | BlockedCall | Promise<AdmittedCall | BlockedCall> {
    const key = toTargetKey(target);
    const create = () => {
      const onChange = (state: CircuitState) => this.#onChange(target, state);
      return new SharedBreaker(this.#valkey, key, this.#rule, onChange);
    };
    const entry = this.#breakers.getOrCreate(key, create).enter();
    if (!(entry instanceof Promise)) return entry;
    return entry.catch((thrown: unknown) => {
      if (!(thrown instanceof UnavailableError)) throw thrown;
      if (this.#whenAway === "refuse") return { away: thrown.message };
      return this.#whenAway === "allow" ? UNCOUNTED : this.#local.enter(target);
    });
  }
}

const UNCOUNTED: AdmittedCall = { begin() {}, end() {} };

class SharedBreaker {
  readonly #valkey: Valkey;
  readonly #key: string;
  readonly #rule: readonly string[];
  readonly #onChange: (state: CircuitState) => void;
  #view: View = { state: "closed", blockedUntil: 0, seenAt: Number.NEGATIVE_INFINITY, isCounted: false };
  #asking: Promise<unknown> | undefined;
  /** Results that were not sent yet. */
  #calls = 0;
  #failures = 0;
  #isSending = false;

  constructor(valkey: Valkey, key: string, rule: BreakerRule, onChange: (state: CircuitState) => void) {
    const { failureRatio, minCalls, windowMs, openMs } = rule;
    this.#valkey = valkey;
    // Callers choose the names of models, which may be long.
    this.#key = `breaker:${createHash("sha256").update(key).digest("base64url")}`;
    this.#rule = [failureRatio, minCalls, windowMs, openMs].map(String);
    this.#onChange = onChange;
  }

  enter(): AdmittedCall | BlockedCall | Promise<AdmittedCall | BlockedCall> {
    const { seenAt } = this.#view;
    if (performance.now() - seenAt >= MAX_STALE_MS) return this.#ask();
    return this.#decide() ?? this.#ask();
  }

  /** Decides by the view. Undefined if the call may be the probe, which only the server can decide. */
  #decide(): AdmittedCall | BlockedCall | undefined {
    const { state, blockedUntil } = this.#view;
    if (state === "closed") return { begin() {}, end: (result) => this.#count(result) };
    const waitMs = blockedUntil - performance.now();
    return waitMs > 0 ? { waitMs } : undefined;
  }

  /** Asks the server. Calls that come meanwhile wait for the same answer, and only the first one can be the probe. */
  async #ask(): Promise<AdmittedCall | BlockedCall> {
    if (this.#asking !== undefined) {
      await this.#asking;
      return this.#decide() ?? { waitMs: 1 };
    }
    const probe = randomUUID();
    const answer = this.#run("enter", probe);
    this.#asking = answer.finally(() => {
      this.#asking = undefined;
    });
    this.#asking.catch(() => {});
    const isProbe = await answer;
    return (isProbe ? this.#probe(probe) : this.#decide()) ?? { waitMs: 1 };
  }

  /** A probe is decided by the first events of a stream: its end may be minutes away. */
  #probe(id: string): AdmittedCall {
    let isPending = true;
    const settle = (result: CallResult) => {
      if (!isPending) return this.#count(result);
      isPending = false;
      this.#run("probe", id, PROBE_RESULTS[result]).catch(() => {});
    };
    return { begin: () => isPending && settle("success"), end: settle };
  }

  #count(result: CallResult): void {
    if (result === "unknown" || (result === "success" && !this.#view.isCounted)) return;
    this.#calls += 1;
    if (result === "failure") this.#failures += 1;
    if (!this.#isSending) void this.#send();
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    try {
      while (this.#calls > 0) {
        const [calls, failures] = [this.#calls, this.#failures];
        [this.#calls, this.#failures] = [0, 0];
        await this.#run("count", String(calls), String(failures));
      }
    } catch {
      // The server is unavailable. Results of that time are not counted.
    } finally {
      this.#isSending = false;
    }
  }

  /** Returns whether the call is the probe. */
  async #run(...args: string[]): Promise<boolean> {
    const [what = "", ...rest] = args;
    const parameters = [what, ...this.#rule, ...rest];
    const numbers = await this.#valkey.run(BREAKER, this.#key, parameters, readNumbers);
    const [code = 0, waitMs = 0, isCounted, isProbe] = numbers;
    const seenAt = performance.now();
    const state = STATES[code] ?? "closed";
    const isChange = state !== this.#view.state;
    this.#view = { state, blockedUntil: seenAt + waitMs, seenAt, isCounted: isCounted === 1 };
    if (isChange) this.#onChange(state);
    return isProbe === 1;
  }
}

const PROBE_RESULTS: Readonly<Record<CallResult, string>> = { success: "1", failure: "0", unknown: "-1" };
