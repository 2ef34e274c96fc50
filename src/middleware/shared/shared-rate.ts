import { setTimeout as delay } from "node:timers/promises";
import { toAbortError } from "../../kit/http/abort.ts";
import { LONGEST_TIMER_MS } from "../../kit/http/timeouts.ts";
import type { Amounts, QueueLimits, QueueRefusal, RateStore, Refund, UncountedCall } from "../wait-queue.ts";
import { UnavailableError, type WhenAway } from "./reconnecting-connection.ts";
import { createScript, PRELUDE, readNumbers } from "./scripts.ts";
import type { Valkey } from "./valkey.ts";

/**
 * Keys: a hash with the level of each bucket, and when it was that high. Arguments: the longest wait in milliseconds,
 * or -1 to take in any case, and for each bucket its capacity, the amount of a minute and the amount to take. If calls
 * wait for their turn, a level is below 0. Returns whether the amounts were taken, the bucket with the longest wait,
 * and the wait.
 */
const TAKE = createScript(`${PRELUDE}
local maxWait = tonumber(ARGV[1])
local at = tonumber(redis.call('HGET', key, 'at')) or now
local elapsed = math.max(0, now - at)
local levels, wait, bucket, full = {}, 0, 0, 0
for i = 1, (#ARGV - 1) / 3 do
  local capacity, perMinute, amount = tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1])
  local level = tonumber(redis.call('HGET', key, 'level' .. i)) or capacity
  level = math.min(capacity, level + elapsed * perMinute / 60000)
  local missing = (amount - level) * 60000 / perMinute
  if missing > wait then wait, bucket = missing, i - 1 end
  levels[i] = math.min(capacity, level - amount)
  full = math.max(full, (capacity - levels[i]) * 60000 / perMinute)
end
if maxWait >= 0 and wait > maxWait then return {0, bucket, math.ceil(wait)} end
for i, level in ipairs(levels) do redis.call('HSET', key, 'level' .. i, string.format('%.6f', level)) end
redis.call('HSET', key, 'at', string.format('%.3f', math.max(at, now)))
redis.call('PEXPIRE', key, math.ceil(full) + 1000)
return {1, bucket, math.ceil(wait)}
`);

/** The settings of a bucket, as for a TokenBucket. */
export interface SharedBucket {
  readonly capacity: number;
  readonly perMinute: number;
}

/** A rate that sidecars share. */
export interface SharedRate {
  readonly buckets: readonly SharedBucket[];
  readonly limits: QueueLimits;
  /** Counts alone while the server is unavailable. */
  readonly local: RateStore;
}

/**
 * Buckets that sidecars share. A call that must wait takes its amounts at once, below 0, and waits for the time that
 * the server computes: it needs one round trip however long it waits, and turns are in the order in which calls of all
 * sidecars came.
 */
export class SharedRateStore implements RateStore {
  readonly #valkey: Valkey;
  readonly #key: string;
  readonly #rate: SharedRate;
  readonly #whenAway: WhenAway;
  #waiting = 0;
  /** Amounts that the server counts although no call uses them. They are subtracted from what the next call takes. */
  #unused: Amounts | undefined;

  constructor(valkey: Valkey, key: string, rate: SharedRate, whenAway: WhenAway) {
    this.#valkey = valkey;
    this.#key = `rate:${key}`;
    this.#rate = rate;
    this.#whenAway = whenAway;
  }

  async take(
    amounts: Amounts,
    maxMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Refund | QueueRefusal | UncountedCall> {
    const { limits, local } = this.#rate;
    const mayWait = this.#waiting < limits.maxQueue;
    const maxWaitMs = mayWait ? Math.max(0, Math.min(maxMs - 1, limits.maxWaitMs)) : 0;
    const unused = this.#unused;
    this.#unused = undefined;
    const needed = amounts.map((amount, index) => amount - (unused?.[index] ?? 0));
    try {
      const [isTaken, bucket = 0, waitMs = 0] = await this.#run(maxWaitMs, needed);
      if (isTaken !== 1) {
        this.#keepUnused(unused);
        return { bucket, waitMs };
      }
      // Other calls may have begun to wait during the round trip.
      if (waitMs > 0 && this.#waiting >= limits.maxQueue) {
        this.#refund(amounts);
        return { bucket, waitMs };
      }
      await this.#wait(waitMs, amounts, signal);
      return (rest) => this.#refund(rest);
    } catch (thrown) {
      if (!(thrown instanceof UnavailableError)) throw thrown;
      this.#keepUnused(unused);
      this.#undo(thrown, needed);
      if (this.#whenAway === "refuse") return { away: thrown.message };
      return this.#whenAway === "allow" ? () => {} : local.take(amounts, maxMs, signal);
    }
  }

  #run(maxWaitMs: number, amounts: Amounts): Promise<number[]> {
    const buckets = this.#rate.buckets.flatMap(({ capacity, perMinute }, index) => {
      return [capacity, perMinute, amounts[index] ?? 0];
    });
    return this.#valkey.run(TAKE, this.#key, [maxWaitMs, ...buckets].map(String), readNumbers);
  }

  async #wait(waitMs: number, amounts: Amounts, signal: AbortSignal | undefined): Promise<void> {
    if (waitMs === 0) return;
    this.#waiting += 1;
    try {
      await delay(Math.min(waitMs, LONGEST_TIMER_MS), undefined, { signal });
    } catch {
      this.#refund(amounts);
      if (signal !== undefined) throw toAbortError(signal);
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Gives amounts back. If the server is unavailable, that is not necessary: the bucket refills with time. */
  #refund(amounts: Amounts): void {
    if (amounts.every((amount) => amount === 0)) return;
    this.#run(
      -1,
      amounts.map((amount) => -amount),
    ).catch(() => {});
  }

  /**
   * Notes the amounts that the server took although its answer was too late. They cannot be given back yet, since the
   * server is still unavailable then.
   */
  #undo({ late }: UnavailableError, amounts: Amounts): void {
    const undo = (reply: unknown) => {
      const [isTaken] = readNumbers(reply);
      if (isTaken === 1) this.#keepUnused(amounts);
    };
    late?.then(undo, () => {});
  }

  #keepUnused(amounts: Amounts | undefined): void {
    if (amounts === undefined) return;
    this.#unused = amounts.map((amount, index) => amount + (this.#unused?.[index] ?? 0));
  }
}
