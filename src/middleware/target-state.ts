import type { CallResult } from "./breaker.ts";
import type { EjectionReason } from "./observer.ts";
import type { EjectionRule } from "./outlier-ejection.ts";

/** The kinds of calls, whose times differ: to the first output of a stream, and to a whole answer. */
export type MeasuredKind = "complete" | "stream";

/** Weight of the latest time in the moving average. */
const EWMA_WEIGHT = 0.3;

/** A failed call counts as this time at least, in milliseconds: a target that fails at once is not fast. */
const FAILURE_MS = 10_000;

/** The recent performance of a target of an alias. */
export class TargetState {
  /** Calls that have not ended. */
  pending = 0;
  /** When the latest time was measured, by the clock of the targets. */
  measuredAt = Number.NEGATIVE_INFINITY;
  readonly #averages: Partial<Record<MeasuredKind, number>> = {};
  #blockedUntil = Number.NEGATIVE_INFINITY;
  #ejectedUntil = Number.NEGATIVE_INFINITY;
  #ejections = 0;
  #failuresInRow = 0;
  #interval = emptyInterval();

  /** Average time to the first output, or to a whole answer, in milliseconds. Undefined: not measured yet. */
  getAverage(kind: MeasuredKind): number | undefined {
    return this.#averages[kind];
  }

  /** Adds the time of a call that has output. */
  measure(kind: MeasuredKind, milliseconds: number, now: number): void {
    this.#addToAverage(kind, milliseconds, now);
    const times = this.#interval.times[kind];
    if (times.push(milliseconds) > MAX_TIMES) times.shift();
  }

  /** Adds the time of a call that failed before output. */
  measureFailure(kind: MeasuredKind, milliseconds: number, now: number): void {
    this.#addToAverage(kind, Math.max(milliseconds, FAILURE_MS), now);
  }

  /** Reports whether new calls may go to the target. */
  isAvailable(now: number): boolean {
    return now >= this.#blockedUntil && !this.isEjected(now);
  }

  /** Reports whether the target is left out as an outlier. */
  isEjected(now: number): boolean {
    return now < this.#ejectedUntil;
  }

  /** Leaves the target out while its circuit breaker is open, or until a call succeeds. */
  block(until: number): void {
    this.#blockedUntil = until;
  }

  /** Counts a call that has ended. Returns the number of failures in a row. */
  count(result: CallResult): number {
    if (result === "unknown") return 0;
    this.#interval.calls += 1;
    if (result === "success") {
      this.#blockedUntil = Number.NEGATIVE_INFINITY;
      this.#failuresInRow = 0;
      return 0;
    }
    this.#interval.failures += 1;
    this.#failuresInRow += 1;
    return this.#failuresInRow;
  }

  /** Ejects the target. Returns how long, in milliseconds. */
  eject({ baseTime, maxTime }: EjectionRule, now: number): number {
    this.#ejections += 1;
    this.#failuresInRow = 0;
    const time = Math.min(baseTime * this.#ejections, maxTime) * 1000;
    this.#ejectedUntil = now + time;
    return time;
  }

  /** Returns the median time of the interval; undefined if too few calls were measured. */
  getMedian(kind: MeasuredKind, { minCalls }: EjectionRule): number | undefined {
    const times = this.#interval.times[kind];
    return times.length < minCalls ? undefined : median(times);
  }

  /** Returns why the target is an outlier of the interval. @param others The other targets. */
  findOutlier(rule: EjectionRule, others: readonly TargetState[]): EjectionReason | undefined {
    const { calls, failures } = this.#interval;
    if (calls >= rule.minCalls && failures >= calls * rule.failureRatio) return "failure_ratio";
    const isSlow = MEASURED_KINDS.some((kind) => {
      const peers = others.flatMap((other) => other.getMedian(kind, rule) ?? []);
      const time = this.getMedian(kind, rule);
      return time !== undefined && peers.length > 0 && time > median(peers) * rule.latencyFactor;
    });
    return isSlow ? "latency" : undefined;
  }

  #addToAverage(kind: MeasuredKind, milliseconds: number, now: number): void {
    const average = this.#averages[kind] ?? milliseconds;
    this.#averages[kind] = average + EWMA_WEIGHT * (milliseconds - average);
    this.measuredAt = now;
  }

  /** Begins an interval. One without an ejection shortens the next ejection. */
  beginInterval(now: number): void {
    if (this.#ejections > 0 && !this.isEjected(now) && this.#interval.calls > 0) this.#ejections -= 1;
    this.#interval = emptyInterval();
  }
}

const MEASURED_KINDS: readonly MeasuredKind[] = ["complete", "stream"];

/** Times of an interval that are kept for its median. */
const MAX_TIMES = 256;

interface Interval {
  calls: number;
  failures: number;
  readonly times: Record<MeasuredKind, number[]>;
}

function emptyInterval(): Interval {
  return { calls: 0, failures: 0, times: { complete: [], stream: [] } };
}

/** @param values At least one. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}
