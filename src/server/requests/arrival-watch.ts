import { tooSlow } from "./refusals.ts";

/** Limits on the time in which a request arrives; see Limits. */
export interface ArrivalLimits {
  readonly requestTimeoutMs: number;
  readonly stallTimeoutMs: number;
}

/** A request whose bytes are awaited. */
export interface Arrival {
  /** Ends the wait with an error, discards the received bytes, and releases their memory. */
  fail(reason: unknown): void;
}

interface Progress {
  /** Number of sweeps before the wait began. */
  readonly begun: number;
  /** Number of sweeps before the last bytes came. */
  touched: number;
}

/** Longest time between two sweeps, in milliseconds. */
const MAX_INTERVAL_MS = 1000;

/** Minimum number of sweeps within the shortest limit. */
const MIN_SWEEPS = 4;

/** When memory is short, a request that made no progress for this many sweeps is rejected. */
const SWEEPS_AT_SHORTAGE = 2;

/**
 * Ends requests whose bytes do not arrive: slow ones by `request_timeout`, stalled ones by `stall_timeout`. One timer
 * for all requests counts sweeps: reading a clock or setting a timer for each request would cost more than the rest of
 * a wait.
 */
export class ArrivalWatch {
  readonly #limits: ArrivalLimits;
  readonly #intervalMs: number;
  readonly #waiting = new Map<Arrival, Progress>();
  #sweeps = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: ArrivalLimits) {
    this.#limits = limits;
    const shortest = Math.min(limits.requestTimeoutMs, limits.stallTimeoutMs);
    this.#intervalMs = Math.min(MAX_INTERVAL_MS, Math.max(1, shortest / MIN_SWEEPS));
  }

  /** Starts waiting for a request. */
  begin(arrival: Arrival): void {
    this.#waiting.set(arrival, { begun: this.#sweeps, touched: this.#sweeps });
    this.#timer ??= setInterval(() => this.#sweep(), this.#intervalMs).unref();
  }

  /** Records that bytes of a request have arrived. */
  touch(arrival: Arrival): void {
    const progress = this.#waiting.get(arrival);
    if (progress !== undefined) progress.touched = this.#sweeps;
  }

  /** Ends the wait for a request. */
  end(arrival: Arrival): void {
    this.#waiting.delete(arrival);
  }

  /** Ends stalled requests before their time limit, since others need their memory. */
  endStalled(): void {
    this.#expire(({ touched }) => this.#sweeps - touched >= SWEEPS_AT_SHORTAGE, "stall_timeout");
  }

  /** Ends the request with the longest wait, to free its slot. Returns false if there is none. */
  endOldest(): boolean {
    const [oldest] = this.#waiting;
    if (oldest === undefined) return false;
    this.#end(...oldest, "max_calls");
    return true;
  }

  /** Ends all waits when the server stops. */
  endAll(createReason: () => unknown): void {
    for (const [arrival] of this.#waiting) {
      this.#waiting.delete(arrival);
      arrival.fail(createReason());
    }
  }

  /** Stops the timer when the server is closed. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sweep(): void {
    this.#sweeps += 1;
    const { requestTimeoutMs, stallTimeoutMs } = this.#limits;
    this.#expire(({ begun }) => this.#msSince(begun) > requestTimeoutMs, "request_timeout");
    this.#expire(({ touched }) => this.#msSince(touched) > stallTimeoutMs, "stall_timeout");
    if (this.#waiting.size === 0) this.stop();
  }

  #expire(isOver: (progress: Progress) => boolean, limit: string): void {
    for (const [arrival, progress] of this.#waiting) {
      if (isOver(progress)) this.#end(arrival, progress, limit);
    }
  }

  #end(arrival: Arrival, { begun }: Progress, limit: string): void {
    this.#waiting.delete(arrival);
    arrival.fail(tooSlow(limit, Math.round(this.#msSince(begun))));
  }

  #msSince(sweeps: number): number {
    return (this.#sweeps - sweeps) * this.#intervalMs;
  }
}
